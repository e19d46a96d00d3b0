package linux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
)

// cutScript takes down the link of the port at the place $1, once the timer $2 is
// armed that brings it back in $3 seconds. A link that is down already, or a
// timer of another owner's cut, is left alone.
const cutScript = findScript + `systemd-run --quiet --collect --unit="$2" --on-active="$3" "$(command -v ip)" link set dev "$nic" up
ip link set dev "$nic" down
echo "$nic"`

// deafScript drops whatever comes in instead. RDMA in software does not outlive
// that its link goes down while it connects: the kernel leaves its queue pair
// for that in an error, until the device is made anew.
const deafScript = findScript + `rules=$(tc qdisc show dev "$nic")
case $rules in *clsact*|*ingress*) echo "$nic has rules of tc for what comes in" >&2; exit 1;; esac
systemd-run --quiet --collect --unit="$2" --on-active="$3" "$(command -v tc)" qdisc del dev "$nic" clsact
tc qdisc add dev "$nic" clsact
tc filter add dev "$nic" ingress matchall action drop
echo "$nic"`

// findScript finds the interface of the port at the place $1, which no other run cuts.
const findScript = `set -e
` + remote.FindPort + `weft_find "$1"
nic=$weft_if
if [ -z "$nic" ]; then echo "$1 names no network interface, or several:$weft_more" >&2; exit 1; fi
if systemctl is-active "$2.timer" >/dev/null; then echo "another cut is under way: $2" >&2; exit 1; fi
read -r state <"/sys/class/net/$nic/operstate"
if [ "$state" != up ]; then echo "$nic is $state already" >&2; exit 1; fi
`

// mendScript brings the link $1 up, by hearScript where it was deaf, disarms the
// timer $2, and waits until the link is up.
const mendScript = `set -e
ip link set dev "$1" up
` + provenUp

const hearScript = `set -e
rules=$(tc qdisc show dev "$1")
case $rules in *clsact*) tc qdisc del dev "$1" clsact;; esac
` + provenUp

const provenUp = `if systemctl is-active "$2.timer" >/dev/null; then systemctl stop "$2.timer" || ! systemctl is-active "$2.timer" >/dev/null; fi
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  read -r state <"/sys/class/net/$1/operstate"
  if [ "$state" = up ]; then exit 0; fi
  sleep 1
done
echo "$1 is $state" >&2
exit 1`

// cutLink takes the link of a NIC down, to see what becomes of I/O. Before that
// it arms a timer on the server that brings the link back after a time, whatever
// becomes of weft; mend does so at once and proves it. Addresses of IPv4 and
// what weft has set of the NIC stay; those of IPv6 would not, and are refused.
// A NIC with RDMA in software hears nothing any more, and stays up.
func cutLink(ctx context.Context, h remote.Host, owner string, nic *inventory.RNIC, after time.Duration) (mend func(context.Context) error, err error) {
	switch {
	case nic.Place() == "":
		return nil, errors.New("a NIC that is not declared by its PCI or MAC address is not cut")
	case nic.Address.Addr().Is6() && !nic.Software:
		return nil, fmt.Errorf("%s has an address of IPv6, which a link that goes down loses", nic.Name)
	}
	unit := "weft-cut-" + owner
	cut, undo := cutScript, mendScript
	if nic.Software {
		cut, undo = deafScript, hearScript
	}
	out, err := h.Run(ctx, script(cut, nic.Place(), unit, strconv.Itoa(int(after.Seconds()))))
	if err != nil {
		return nil, hint.Wrap(err, "a link is cut only where it is up, and where systemd-run can bring it back")
	}
	name := strings.TrimSpace(string(out.Stdout))
	return func(ctx context.Context) error {
		_, err := h.Run(ctx, script(undo, name, unit))
		return err
	}, nil
}

// cutHow says what becomes of a NIC that cutLink cuts.
func cutHow(nic *inventory.RNIC) string {
	if nic.Software {
		return "hears nothing any more, since RDMA in software would not outlive that its link goes down"
	}
	return "goes down"
}
