package system

import (
	"strings"
	"testing"
)

// A text that would be another line is refused where it is to be written, also
// if the files' own rules ever let it pass; and so is a name that leads elsewhere.
func TestUnwritable(t *testing.T) {
	for _, c := range []struct {
		err  error
		says string
	}{
		{KernelModuleKind().Check(newKernelModule("nvmet", map[string]string{"a": "1\ninstall nvmet /bin/false"})), `value of a "1\ninstall`},
		{KernelModuleKind().Check(newKernelModule("nvmet", map[string]string{"a b": "1"})), `option "a b"`},
		{KernelModuleKind().Check(newKernelModule("nvmet\nx", nil)), "the module"},
		{SysctlKind().Check(newSysctl("vm.swappiness\nx", "1")), "the key"},
		{SysctlKind().Check(newSysctl("vm.swappiness", "1\x01x")), "the value"},
		{BootKind().Check(NewBoot("o\nExecStart=/bin/x", "", nil, nil)), "cannot be written"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%v, wanted %q", c.err, c.says)
		}
	}
	for _, good := range []interface{ unwritable() error }{newKernelModule("nvmet", map[string]string{"a": `"x y"`, "b": ""}), newSysctl("net.ipv4.tcp_rmem", "1 2\t3"), NewBoot("o", BootStorage, nil, nil), NewMemlock("o", "a\nb")} {
		if err := good.unwritable(); err != nil {
			t.Error(err)
		}
	}
}
