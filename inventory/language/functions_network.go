package language

import (
	"errors"
	"fmt"
	"math/big"
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/apparentlymart/go-cidr/cidr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func networkFunctions() map[string]function.Function {
	return map[string]function.Function{
		"cidrhost":   cidrHostFunction(),
		"cidrsubnet": cidrSubnetFunction(),
		"port_range": portRangeFunction(),
	}
}

// cidrHostFunction is the address with a number in a subnet.
func cidrHostFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "subnet", Type: cty.String}, {Name: "number", Type: cty.Number}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			subnet, err := subnetArg(args[0])
			if err != nil {
				return cty.NilVal, err
			}
			n, err := intArg(args, 1)
			if err != nil {
				return cty.NilVal, err
			}
			ip, err := cidr.HostBig(subnet, n)
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(1, "%s has no address with the number %s", subnet, n)
			}
			return cty.StringVal(ip.String()), nil
		},
	})
}

// cidrSubnetFunction is the subnet with a number in a larger one.
func cidrSubnetFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "subnet", Type: cty.String}, {Name: "newbits", Type: cty.Number}, {Name: "number", Type: cty.Number}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			subnet, err := subnetArg(args[0])
			if err != nil {
				return cty.NilVal, err
			}
			bits, err := intArg(args, 1)
			if err != nil {
				return cty.NilVal, err
			}
			n, err := intArg(args, 2)
			if err != nil {
				return cty.NilVal, err
			}
			if !bits.IsInt64() || bits.Int64() < 0 || bits.Int64() > 128 {
				return cty.NilVal, function.NewArgErrorf(1, "a prefix grows by 0 to 128 bits")
			}
			sub, err := cidr.SubnetBig(subnet, int(bits.Int64()), n)
			if err != nil {
				return cty.NilVal, fmt.Errorf("%s has no such subnet: %w", subnet, err)
			}
			return cty.StringVal(sub.String()), nil
		},
	})
}

func subnetArg(v cty.Value) (*net.IPNet, error) {
	_, subnet, err := net.ParseCIDR(v.AsString())
	if err != nil {
		return nil, function.NewArgErrorf(0, "%q is not a subnet such as 10.40.1.0/24", v.AsString())
	}
	return subnet, nil
}

func intArg(args []cty.Value, i int) (*big.Int, error) {
	f := args[i].AsBigFloat()
	if !f.IsInt() {
		return nil, function.NewArgErrorf(i, "a whole number is required")
	}
	n, _ := f.Int(nil)
	return n, nil
}

// maxPorts bounds what one port_range names.
const maxPorts = 1024

// portRangeFunction is the list of ports that "Ethernet1/1-8" names.
func portRangeFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "range", Type: cty.String}},
		Type:   function.StaticReturnType(cty.List(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			ports, err := portRange(args[0].AsString())
			if err != nil {
				return cty.NilVal, err
			}
			list := make([]cty.Value, len(ports))
			for i, p := range ports {
				list[i] = cty.StringVal(p)
			}
			return cty.ListVal(list), nil
		},
	})
}

// portRange reads names of ports with commas between them; the last number of
// each may be a range.
func portRange(text string) ([]string, error) {
	re := regexp.MustCompile(`^(.*[^0-9])([0-9]{1,6})-([0-9]{1,6})$`)
	var ports []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		m := re.FindStringSubmatch(item)
		switch {
		case item == "":
			return nil, errors.New("the name of a port is empty")
		case m == nil:
			ports = append(ports, item)
		default:
			// At most six digits each: always numbers.
			first, _ := strconv.Atoi(m[2])
			last, _ := strconv.Atoi(m[3])
			if last < first || last-first >= maxPorts {
				return nil, fmt.Errorf("%q does not go from a lower number to a higher one, at most %d ports", item, maxPorts)
			}
			for n := first; n <= last; n++ {
				ports = append(ports, m[1]+strconv.Itoa(n))
			}
		}
		if len(ports) > maxPorts {
			return nil, fmt.Errorf("there are more than %d ports", maxPorts)
		}
	}
	return ports, nil
}
