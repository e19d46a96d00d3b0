package linux

import (
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/remote"
	"weft/modules/host"
)

// subnetScript asks the device at the other end of each InfiniBand port that has a link
// what it is: by a directed route one hop long, so that no subnet manager need run. The
// port by which the question came in is what the answer calls LocalPort (InfiniBand
// architecture, NodeInfo).
const subnetScript = `command -v smpquery >/dev/null || exit 0
for p in /sys/class/infiniband/*/ports/*; do
case "$(cat "$p/link_layer" "$p/phys_state" 2>/dev/null)" in InfiniBand*LinkUp) ;; *) continue ;; esac
n=${p##*/}; d=${p%/ports/*}; d=${d##*/}
echo "port $d $n"
smpquery -C "$d" -P "$n" -D nodeinfo "0,$n" 2>/dev/null
smpquery -C "$d" -P "$n" -D nodedesc "0,$n" 2>/dev/null
done
exit 0`

func subnetLook() remote.Look {
	return remote.Look{Args: []string{"sh", "-c", subnetScript, "sh"}, Root: true, Own: true}
}

// An ibPort is a port of an RDMA device.
type ibPort struct {
	device string
	port   int
}

var nodeField = pattern.New(`^([A-Za-z ]+):\.+(.*)$`)

// parseSubnet reads what the script prints. What is no switch is left out.
func parseSubnet(text []byte) map[ibPort]host.Heard {
	type answer struct {
		port   ibPort
		fields map[string]string
	}
	var all []answer
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if w := strings.Fields(line); len(w) == 3 && w[0] == "port" {
			n, _ := strconv.Atoi(w[2]) // 0 is no port
			all = append(all, answer{ibPort{w[1], n}, map[string]string{}})
			continue
		}
		if m := nodeField.FindStringSubmatch(line); m != nil && len(all) > 0 {
			all[len(all)-1].fields[m[1]] = m[2]
		}
	}
	plugged := map[ibPort]host.Heard{}
	for _, a := range all {
		if a.fields["NodeType"] == "Switch" && a.fields["Guid"] != "" && a.fields["LocalPort"] != "" {
			plugged[a.port] = host.Heard{System: a.fields["Node Description"], Chassis: a.fields["Guid"], Port: a.fields["LocalPort"]}
		}
	}
	return plugged
}
