package remote

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/pattern"
	"weft/internal/slice"
)

// FindPort defines a POSIX shell function, weft_find PLACE, which sets weft_if to the network
// interface of a place, and weft_at to the folder of its PCI function. A place is a PCI function (0000:41:00.0), one port of a function
// (0000:41:00.0@1), or the MAC address of a port (@b8:ce:f6:00:00:01). Where no interface or
// more than one fits, weft_if is empty. weft_more then lists the interfaces that were
// considered, as NAME/KIND/NUMBER/MAC; parsePorts reads it.
//
// A PCI function may have several interfaces. phys_port_name is p0 of an uplink and pf0vf1,
// pf0sf1 or c1pf0 of a representor (net/devlink, devlink_nl_port_phys_port_name of Linux);
// early mlx5 numbered representors, which have a phys_switch_id. An interface above another
// one, such as a partition of InfiniBand, has its iflink. physfn is the port's function
// behind a virtual function (Documentation/ABI/testing/sysfs-bus-pci). The number of a port
// is that of phys_port_name, or else dev_port (sysfs-class-net).
const FindPort = `weft_value() { weft_v=; read -r weft_v 2>/dev/null <"$1" || :; }
weft_find() {
	weft_if= weft_at= weft_more= weft_several= weft_of=${1%%@*} weft_by=
	case $1 in *@*) weft_by=${1#*@} ;; esac
	for weft_d in /sys/bus/pci/devices/${weft_of:-*}/net/* /sys/bus/pci/devices/${weft_of:-*}/virtio*/net/*; do
		if [ ! -e "$weft_d" ]; then continue; fi
		weft_kind=port weft_fits=
		weft_value "$weft_d/phys_port_name"; weft_name=$weft_v
		weft_value "$weft_d/ifindex"; weft_num=$weft_v
		weft_value "$weft_d/iflink"
		if [ "${weft_v:-$weft_num}" != "$weft_num" ]; then weft_kind=upper; fi
		case $weft_name in
		*[pvs]f[0-9]*) weft_kind=representor ;;
		""|*[!0-9]*) ;;
		*) weft_value "$weft_d/phys_switch_id"; if [ -n "$weft_v" ]; then weft_kind=representor; fi ;;
		esac
		case $weft_name in
		p[0-9]*|l[0-9]*p[0-9]*) weft_num=${weft_name##*p}; weft_num=${weft_num%%[!0-9]*} ;;
		*) weft_value "$weft_d/dev_port"; weft_num=$weft_v ;;
		esac
		weft_pf=${weft_d%/net/*}; weft_pf=${weft_pf%/virtio*}/physfn
		if [ -L "$weft_pf" ]; then weft_kind=virtual weft_num=$(readlink "$weft_pf") || :; weft_num=${weft_num##*/}; fi
		weft_value "$weft_d/bonding_slave/perm_hwaddr"
		if [ -z "$weft_v" ]; then weft_value "$weft_d/address"; fi
		case $weft_by in ""|"$weft_num"|"$weft_v") weft_fits=yes ;; esac
		if [ "$weft_kind$weft_fits" = portyes ]; then weft_several=$weft_several${weft_if:+yes} weft_if=${weft_d##*/} weft_at=${weft_pf%/physfn}; fi
		if [ -n "$weft_of$weft_fits" ]; then weft_more="$weft_more ${weft_d##*/}/$weft_kind/$weft_num/$weft_v"; fi
	done
	if [ -n "$weft_several" ]; then weft_if=; fi
}
`

// An Interface is a network interface of a PCI function.
type Interface struct {
	Name string
	Kind InterfaceKind
	Port string // number of the port, from 0; of a virtual function the address of the function that it is of
	MAC  string
}

// An InterfaceKind is what an interface of a PCI function is.
type InterfaceKind string

const (
	PortInterface        InterfaceKind = "port"        // the uplink of a port
	VirtualInterface     InterfaceKind = "virtual"     // of a virtual function
	RepresentorInterface InterfaceKind = "representor" // of a virtual or sub-function, in the card's switch
	UpperInterface       InterfaceKind = "upper"       // above another interface
)

// A PortError reports that a place has no network interface which weft manages, or several.
// It wraps fs.ErrNotExist where there is none.
type PortError struct {
	Place      string
	Interfaces []Interface // that were considered
}

// InterfaceFiles are the files of an interface, below its folder in sysfs, that [InterfaceOf]
// wants.
const InterfaceFiles = "phys_port_name phys_switch_id ifindex iflink dev_port address bonding_slave/perm_hwaddr"

var (
	ofFunction = pattern.New(`[pvs]f[0-9]`)
	physical   = pattern.New(`^(?:l[0-9].*)?p([0-9]+)[^p]*$`)
)

// InterfaceOf judges an interface by its files as weft_find does; physfn is the address of the
// function that its PCI function is virtual of, or "".
func InterfaceOf(name string, files map[string]string, physfn string) Interface {
	i := Interface{Name: name, Kind: PortInterface, Port: files["dev_port"], MAC: cmp.Or(files["bonding_slave/perm_hwaddr"], files["address"])}
	label := files["phys_port_name"]
	if m := physical.FindStringSubmatch(label); m != nil {
		i.Port = m[1]
	}
	switch _, err := strconv.ParseUint(label, 10, 32); {
	case physfn != "":
		i.Kind, i.Port = VirtualInterface, physfn
	case ofFunction.MatchString(label), err == nil && files["phys_switch_id"] != "":
		i.Kind = RepresentorInterface
	case files["iflink"] != "" && files["iflink"] != files["ifindex"]:
		i.Kind = UpperInterface
	}
	return i
}

// Choose finds the interface of a place among those of its PCI function, as weft_find does.
func Choose(place string, list []Interface) (Interface, error) {
	err := &PortError{Place: place, Interfaces: list}
	if c := err.candidates(); len(c) == 1 {
		return c[0], nil
	}
	return Interface{}, err.hinted()
}

// PlaceError is the error of a place for which weft_find found no interface, and listed words.
func PlaceError(place string, words []string) error {
	return (&PortError{Place: place, Interfaces: parsePorts(words)}).hinted()
}

func (err *PortError) hinted() error {
	if text := err.hint(); text != "" {
		return hint.Wrap(err, "%s", text)
	}
	return err
}

// parsePorts reads what weft_find lists.
func parsePorts(words []string) (list []Interface) {
	for _, w := range words {
		if p := strings.SplitN(w, "/", 4); len(p) == 4 {
			list = append(list, Interface{Name: p[0], Kind: InterfaceKind(p[1]), Port: p[2], MAC: p[3]})
		}
	}
	return list
}

// parts are the PCI function of the place and what selects a port of it.
func (err *PortError) parts() (function, selector string) {
	function, selector, _ = strings.Cut(err.Place, "@")
	return function, selector
}

func (err *PortError) of(kind InterfaceKind) []Interface {
	return slice.Filter(err.Interfaces, func(i Interface) bool { return i.Kind == kind })
}

// candidates are the ports that the place fits.
func (err *PortError) candidates() []Interface {
	_, by := err.parts()
	return slice.Filter(err.of(PortInterface), func(i Interface) bool { return by == "" || by == i.Port || by == i.MAC })
}

func (err *PortError) Error() string {
	function, by := err.parts()
	where := "PCI device " + function
	if function == "" {
		where = "MAC address " + by
	}
	ports, virtual, representors := err.of(PortInterface), err.of(VirtualInterface), err.of(RepresentorInterface)
	named := func(list []Interface) string { return strings.Join(slice.Map(list, Interface.String), " and ") }
	switch candidates := err.candidates(); {
	case len(candidates) > 1:
		return fmt.Sprintf("%s has several ports: %s", where, named(candidates))
	case len(virtual) > 0:
		return fmt.Sprintf("%s is %s: virtual functions are reported, not managed", where, named(virtual))
	case len(ports) > 0:
		return fmt.Sprintf("%s has no port %s: it has %s", where, by, named(ports))
	case len(representors) > 0:
		return fmt.Sprintf("%s has no interface of its port, only representors: %s", where, named(representors))
	case function == "":
		return "no port of a PCI device has the " + where
	}
	return fmt.Sprintf("%s has no network interface here: %v", where, fs.ErrNotExist)
}

func (err *PortError) Unwrap() error {
	if len(err.candidates()) > 0 {
		return nil
	}
	return fs.ErrNotExist
}

// hint names the lines of an rnic block that decide between several ports.
func (err *PortError) hint() string {
	function, _ := err.parts()
	if virtual := err.of(VirtualInterface); len(virtual) > 0 && virtual[0].Port != "" {
		return fmt.Sprintf("to manage the port, write match = { pci = %q }", virtual[0].Port)
	}
	list := err.candidates()
	if len(list) < 2 {
		list = err.of(PortInterface)
	}
	var lines []string
	for _, i := range list {
		same := slices.ContainsFunc(list, func(o Interface) bool { return o.Name != i.Name && o.Port == i.Port })
		line := fmt.Sprintf("match = { mac = %q }", i.MAC)
		if i.Port != "" && !same && function != "" {
			line += fmt.Sprintf(" or match = { pci = %q, port = %s }", function, i.Port)
		}
		lines = append(lines, line+" for "+i.Name)
	}
	if len(lines) == 0 {
		return ""
	}
	return "write in the rnic " + strings.Join(lines, "; ")
}

// String names the interface and what tells it from others.
func (i Interface) String() string {
	switch i.Kind {
	case VirtualInterface:
		return i.Name + ", of a virtual function of " + i.Port
	case PortInterface:
		if i.Port != "" {
			return fmt.Sprintf("%s (port %s, MAC %s)", i.Name, i.Port, i.MAC)
		}
		return fmt.Sprintf("%s (MAC %s)", i.Name, i.MAC)
	}
	return i.Name
}
