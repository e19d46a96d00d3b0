package nvme

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/modules/linux/storage"
)

// nvmeScript prints the connections of the kernel, straight from sysfs, which
// is the same whatever tools are installed: a line "nvme NAME" for each, lines
// with its attributes, "path NAME STATE" for each namespace that it shows, with
// the ANA state or - where the kernel shows none, the policy and the type of its
// subsystem, and "disk NAME" for each block device that is reached through it with
// a line "user" for each thing that is built on it, mounted, or swap. The rules of
// udev that may set such attributes follow: "rules FILE", and its lines after "|".
const nvmeScript = `for c in /sys/class/nvme/nvme*; do if [ -e "$c/subsysnqn" ]; then any=1; echo "nvme ${c##*/}"; ` +
	`for a in transport address subsysnqn hostnqn hostid state cntrltype model queue_count kato ctrl_loss_tmo reconnect_delay fast_io_fail_tmo dhchap_secret dhchap_ctrl_secret; do if [ -e "$c/$a" ]; then read -r v <"$c/$a"; echo "$a $v"; fi; done; ` +
	`for b in "$c"/nvme*c*n*; do if [ -e "$b" ]; then v=-; if [ -e "$b/ana_state" ]; then read -r v <"$b/ana_state"; fi; echo "path ${b##*/} $v"; fi; done; ` +
	`for s in /sys/class/nvme-subsystem/*; do if [ -e "$s/${c##*/}" ]; then for a in iopolicy subsystype; do if [ -e "$s/$a" ]; then read -r v <"$s/$a"; echo "$a $v"; fi; done; ` +
	`for b in "$s"/nvme*n* "$c"/nvme*n*; do n=${b##*/}; case $n in nvme*c*n*) continue;; esac; if [ -e "/sys/block/$n" ]; then echo "disk $n"; ` + storage.DiskUsers +
	`fi; done; fi; done; fi; done; if [ -n "$any" ]; then if [ -e /sys/module/nvme_core/parameters/iopolicy ]; then read -r v </sys/module/nvme_core/parameters/iopolicy; echo "usual $v"; fi; ` + rulesScript + `fi`

func nvmeLook() remote.Look {
	return remote.Look{Args: []string{"sh", "-c", nvmeScript}, Root: true, Own: true}
}

// A controller is one connection as the kernel shows it.
type controller struct {
	name      string // nvme0
	values    map[string]string
	policy    string
	subsystem string            // its type, where the kernel shows it: nvm or discovery
	disks     []string          // nvme0n1
	paths     map[string]string // ANA states of the namespaces that it shows, by disk; "": not shown
	users     []string          // of the disks, in words
	address   netip.AddrPort
	from      netip.Addr // where it was told to begin; not valid: anywhere
	keep      int        // seconds
	loss      int        // seconds; -1: never
	fast      int        // seconds until its I/O fails; -1: never
	reconnect int        // seconds
	queues    int        // of I/O
	rules     udevRules  // of the server
}

// parseNVMe reads what nvmeScript printed.
func parseNVMe(s remote.Seen) ([]*controller, error) {
	out, err := see.Output(s, nvmeLook())
	if err != nil {
		return nil, fmt.Errorf("read the connections in /sys/class/nvme: %w", err)
	}
	var list []*controller
	var rules udevRules
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "nvme":
			list = append(list, &controller{name: rest, values: map[string]string{}, paths: map[string]string{}})
			continue
		case "usual":
			rules.usual = rest
			continue
		case "rules":
			rules.files = append(rules.files, ruleFile{name: rest})
			continue
		case "|":
			if n := len(rules.files); n > 0 {
				rules.files[n-1].lines = append(rules.files[n-1].lines, rest)
			}
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("read the connections in /sys/class/nvme: %.80q is not understood", line)
		}
		c := list[len(list)-1]
		switch word {
		case "iopolicy":
			c.policy = rest
		case "subsystype":
			c.subsystem = rest
		case "path":
			name, state, _ := strings.Cut(rest, " ")
			c.paths[HeadOf(name)] = strings.Trim(state, "- ")
		case "disk":
			c.disks = append(c.disks, rest)
		case "user":
			if !slices.Contains(c.users, rest) {
				c.users = append(c.users, rest)
			}
		default:
			c.values[word] = rest
		}
	}
	for _, c := range list {
		c.read()
		c.rules = rules
	}
	return list, nil
}

// key is what an attribute shows of a key.
func (c *controller) key(name string) []byte {
	if v := c.values[name]; v != "" && v != "none" {
		return []byte(v)
	}
	return nil
}

// read takes the values apart that are not as they are kept.
func (c *controller) read() {
	var addr, service string
	// The form of old kernels has spaces.
	for _, part := range strings.FieldsFunc(c.values["address"], func(r rune) bool { return r == ',' || r == ' ' }) {
		k, v, _ := strings.Cut(part, "=")
		switch k {
		case "traddr":
			addr = v
		case "trsvcid":
			service = v
		case "host_traddr":
			c.from, _ = netip.ParseAddr(v)
		}
	}
	a, err := netip.ParseAddr(addr)
	if port, err2 := strconv.ParseUint(service, 10, 16); err == nil && err2 == nil {
		c.address = netip.AddrPortFrom(a, uint16(port))
	}
	number := func(name string) int {
		if c.values[name] == "off" {
			return -1
		}
		n, err := strconv.Atoi(c.values[name])
		if err != nil {
			return 0 // a kernel that does not show it
		}
		return n
	}
	c.queues = number("queue_count") - 1 // one is for administration
	c.fast = number("fast_io_fail_tmo")
	c.keep, c.loss, c.reconnect = number("kato"), number("ctrl_loss_tmo"), number("reconnect_delay")
}

func (c *controller) object() host.Object {
	return host.Object{Kind: "nvme_connection", Name: fmt.Sprintf("%s: %s at %s", c.name, c.values["subsysnqn"], c.values["address"])}
}

// bootNVMe is the function of boot scripts that makes a connection which is
// not there: the kernel says so itself.
const bootNVMe = `# keys_ prints the options with the keys in the files $1 and $2, if they are
# named.
keys_() {
	if [ -n "$1" ] && read -r key <"$1"; then printf %s ",dhchap_secret=$key"; fi
	if [ -n "$2" ] && read -r key <"$2"; then printf %s ",dhchap_ctrl_secret=$key"; fi
}

# connect_ connects with the options $1, and the keys in the files $2 and $3 if
# there are any, unless the kernel has that connection.
connect_() {
	said=$(printf %s "$1$(keys_ "$2" "$3")" | tee /dev/nvme-fabrics 2>&1 >/dev/null) && return 0
	case $said in
	*already*) ;;
	*) echo "failed: connect $1: $said" >&2; status=1 ;;
	esac
}

# rdma_ connects with the options $1 for RDMA, and the keys in the files $2 and $3.
rdma_() {
	modprobe nvme-rdma 2>/dev/null && printf %s "$1$(keys_ "$2" "$3")" | tee /dev/nvme-fabrics >/dev/null 2>&1
}

# answers_ reports whether somebody listens at the TCP address $1. Where there is
# no bash to find out, somebody does.
answers_() {
	a=${1#*traddr=}; a=${a%%,*}; p=${1#*trsvcid=}; p=${p%%,*}
	! command -v bash >/dev/null || timeout 5 bash -c ": </dev/tcp/$a/$p" 2>/dev/null
}

# either_ connects to the subsystem $1 at the address $2 unless that is so: with
# the options $3 for RDMA or, where that does not work, with $4 for TCP, and the
# keys in the files $5 and $6. A target that starts, too, may be there over TCP a
# little earlier, and what is connected over TCP stays so.
either_() {
	for c in /sys/class/nvme/nvme*; do
		[ -e "$c/subsysnqn" ] && [ -e "$c/address" ] || continue
		read -r nqn <"$c/subsysnqn"
		read -r at <"$c/address"
		case "$nqn $at," in "$1 $2,"*) return ;; esac
	done
	rdma_ "$3" "$5" "$6" && return
	answers_ "$2" || { echo "failed: $2 answers neither over RDMA nor over TCP" >&2; status=1; return; }
	for n in 1 2 3; do
		[ -n "$(ls /sys/class/infiniband 2>/dev/null)" ] || break
		sleep 5
		rdma_ "$3" "$5" "$6" && return
	done
	echo "degraded: $2 is connected over TCP, RDMA did not connect" >&2
	do_ modprobe nvme-tcp
	connect_ "$4" "$5" "$6"
}

# policy_ sets how I/O is spread over the paths of the subsystem $1: where $3 is default,
# unless udev or the kernel's parameter has set it.
policy_() {
	if [ "$3" = default ] && command -v udevadm >/dev/null 2>&1; then udevadm settle --timeout=5; fi
	for s in /sys/class/nvme-subsystem/*; do
		[ -e "$s/iopolicy" ] || continue
		read -r nqn <"$s/subsysnqn"
		read -r is <"$s/iopolicy"
		[ "$nqn" = "$1" ] || continue
		p=$is
		if [ "$3" = default ]; then ` + settledScript + `fi
		if [ "$is" != "$2" ]; then printf %s "$2" | tee "$s/iopolicy" >/dev/null || status=1; fi
	done
}

`

// connectionsAtBoot are what connects at boot.
func ConnectionsAtBoot() put.BootFunctions {
	return put.BootFunctions{Called: func(line string) bool {
		return strings.HasPrefix(line, "connect_ ") || strings.HasPrefix(line, "either_ ")
	}, Text: bootNVMe}
}
