package linux

import (
	"path"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
)

// tuningScript prints how the kernel was started, and what files of the machine's own set
// in it at each start, each line after its path; a file that may not be read, after a ?.
const tuningScript = `grep -sHv -e "^[ 	]*$" -e "^[ 	]*[#;]" /proc/cmdline /etc/sysctl.d/*.conf /etc/sysctl.conf
for f in /etc/sysctl.d/*.conf /etc/sysctl.conf; do if [ -e "$f" ]; then cat "$f" >/dev/null 2>&1 || echo "?$f"; fi; done
exit 0`

func tuningLook() remote.Look {
	return remote.Look{Args: []string{"sh", "-c", tuningScript, "sh"}, Own: true}
}

// speeding are words of a kernel's command line that have to do with speed. No others are
// taken: a command line may hold a secret.
func speeding(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	if slices.Contains([]string{"iommu", "intel_iommu", "amd_iommu", "isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "idle", "mitigations", "nosmt", "intel_pstate", "amd_pstate",
		"intel_idle.max_cstate", "processor.max_cstate", "cpufreq.default_governor", "hugepages", "hugepagesz", "default_hugepagesz", "transparent_hugepage", "numa_balancing", "pcie_aspm", "skew_tick", "tsc"}, name) {
		return true
	}
	module, _, ok := strings.Cut(name, ".")
	return ok && slices.Contains([]string{"nvme", "nvme_core", "nvme_rdma", "nvme_tcp", "nvmet", "mlx4_core", "mlx5_core", "rdma_rxe"}, module)
}

// parseTuning reads what the script prints. What weft itself keeps is not among it.
func parseTuning(text []byte) *host.Tuning {
	t := &host.Tuning{}
	at := map[string]int{}
	for line := range strings.Lines(string(text)) {
		file, line, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if unread, is := strings.CutPrefix(file, "?"); is {
			t.Unread = append(t.Unread, printable(unread))
			continue
		}
		if file == "/proc/cmdline" {
			for _, word := range strings.Fields(line) {
				if speeding(word) {
					t.KernelLine = append(t.KernelLine, printable(word))
				}
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimPrefix(strings.TrimSpace(key), "-") // sysctl.d(5): errors are passed over
		if !ok || key == "" || strings.HasPrefix(path.Base(file), "99-weft-") {
			continue
		}
		s := host.Sysctl{Key: printable(key), Value: printable(strings.Join(strings.Fields(value), " ")), File: printable(file)}
		if i, again := at[s.Key]; again {
			t.Sysctls[i] = s // the last one counts
			continue
		}
		at[s.Key] = len(t.Sysctls)
		t.Sysctls = append(t.Sysctls, s)
	}
	return t
}
