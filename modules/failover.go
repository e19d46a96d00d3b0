package modules

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

// cutScript takes down the link of the PCI device $1, once the timer $2 is
// armed that brings it back in $3 seconds. A link that is down already, or a
// timer of somebody else's cut, is left alone.
const cutScript = `set -e
for n in "/sys/bus/pci/devices/$1/net/"* "/sys/bus/pci/devices/$1/virtio"*/net/*; do if [ -e "$n" ]; then nic=${n##*/}; fi; done
if [ -z "$nic" ]; then echo "PCI device $1 has no network interface" >&2; exit 1; fi
if systemctl is-active "$2.timer" >/dev/null; then echo "another cut is under way: $2" >&2; exit 1; fi
read -r state <"/sys/class/net/$nic/operstate"
if [ "$state" != up ]; then echo "$nic is $state already" >&2; exit 1; fi
systemd-run --quiet --collect --unit="$2" --on-active="$3" "$(command -v ip)" link set dev "$nic" up
ip link set dev "$nic" down
echo "$nic"`

// mendScript brings the link $1 up, disarms the timer $2, and waits until the
// link is up.
const mendScript = `set -e
ip link set dev "$1" up
if systemctl is-active "$2.timer" >/dev/null; then systemctl stop "$2.timer" || ! systemctl is-active "$2.timer" >/dev/null; fi
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  read -r state <"/sys/class/net/$1/operstate"
  if [ "$state" = up ]; then exit 0; fi
  sleep 1
done
echo "$1 is $state" >&2
exit 1`

// CutLink takes the link of a NIC down, to see what becomes of I/O. Before that
// it arms a timer on the server that brings the link back after a time, whatever
// becomes of weft; mend does so at once and proves it. Addresses of IPv4 and
// what weft has set of the NIC stay; those of IPv6 would not, and are refused.
func CutLink(ctx context.Context, h remote.Host, owner string, nic *inventory.RNIC, after time.Duration) (mend func(context.Context) error, err error) {
	switch {
	case nic.PCI == "":
		return nil, errors.New("a NIC that is not declared by its PCI address is not cut")
	case nic.Address.Addr().Is6():
		return nil, fmt.Errorf("%s has an address of IPv6, which a link that goes down loses", nic.Name)
	}
	unit := "weft-cut-" + owner
	out, err := h.Run(ctx, script(cutScript, nic.PCI, unit, strconv.Itoa(int(after.Seconds()))))
	if err != nil {
		return nil, hint.Wrap(err, "a link is cut only where it is up, and where systemd-run can bring it back")
	}
	name := strings.TrimSpace(string(out.Stdout))
	return func(ctx context.Context) error {
		_, err := h.Run(ctx, script(mendScript, name, unit))
		return err
	}, nil
}
