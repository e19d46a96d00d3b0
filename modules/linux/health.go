package linux

import (
	"weft/internal/remote"
)

// healthScript asks a machine how it is, in one pass: factsScript for all of its
// NICs, then files, each line after its path, then tools, each after a line that
// says whose answer follows. Nothing here changes anything.
const healthScript = `p=/sys/bus/pci/devices; b=; ifs=; n=
for f in $p/*/net/* $p/*/virtio*/net/*; do if [ ! -e "$f" ]; then continue; fi
d=${f#$p/}; d=${d%%/*}; x=; read -r x 2>/dev/null <"$f/phys_port_name"
case $x in *[pvs]f[0-9]*) continue ;; esac # representors: nothing is judged of them
ifs="$ifs ${f##*/}"
case " $b " in *" $d "*) ;; *) b="$b $d"; n="$n $p/$d/aer_dev_fatal $p/$d/aer_dev_nonfatal $p/$d/aer_dev_correctable";; esac
n="$n $f/address $f/carrier_changes"
done
facts() ( ` + factsScript + ` )
facts all $b
grep -sH "" $n /sys/class/infiniband/*/ports/*/hw_counters/* \
/sys/class/infiniband/*/ports/*/counters/symbol_error /sys/class/infiniband/*/ports/*/counters/link_error_recovery \
/sys/class/infiniband/*/ports/*/counters/link_downed /sys/class/infiniband/*/ports/*/counters/port_xmit_wait /proc/cmdline /proc/uptime /proc/swaps /proc/sys/kernel/hostname \
/proc/sys/kernel/numa_balancing /proc/sys/net/ipv4/conf/*/rp_filter /proc/sys/net/ipv4/conf/*/arp_ignore \
/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor \
/sys/devices/system/edac/mc/mc*/ue_count /sys/module/nvme_core/parameters/multipath /sys/module/*/initstate \
/sys/class/nvme-subsystem/*/subsysnqn /sys/class/nvme-subsystem/*/iopolicy
for c in /sys/class/nvme/*; do
grep -sH "" $c/model $c/firmware_rev $c/transport $c/state $c/address $c/subsysnqn $c/hostnqn $c/ctrl_loss_tmo $c/fast_io_fail_tmo $c/kato $c/queue_count $c/sqsize $c/reconnect_delay $c/cntrltype $c/nvme*n*/size $c/nvme*n*/ana_state $c/hwmon*/temp1_input $c/hwmon*/temp1_max $c/numa_node $c/device/numa_node
if [ -e "$c/state" ]; then echo "$c/namespaces:read"; fi
done
grep -sH -e "^HugePages_Total" -e "^Hugepagesize" -e "^MemTotal" /proc/meminfo
` + systemScript + "\n" + networkScript + "\n" + storageScript + `
echo "= clock"; date +%s.%N
echo "= disks"; ls /dev/disk/by-id 2>/dev/null
for i in $ifs; do
echo "= $i pfc"; dcb -j pfc show dev "$i" 2>&1
echo "= $i app"; dcb -j app show dev "$i" 2>&1
echo "= $i ets"; dcb -j ets show dev "$i" 2>&1
echo "= $i pause"; ethtool -a "$i" 2>&1
echo "= $i fec"; ethtool -I --show-fec "$i" 2>/dev/null || ethtool --show-fec "$i" 2>&1
echo "= $i dcbx"; dcb -j dcbx show dev "$i" 2>&1
echo "= $i flags"; ethtool --show-priv-flags "$i" 2>&1
echo "= $i count"; ethtool -S "$i" 2>&1
echo "= $i optics"; ethtool -m "$i" 2>&1
echo "= $i ecn"; grep -sH "" /sys/class/net/$i/ecn/roce_np/enable/* /sys/class/net/$i/ecn/roce_rp/enable/*
done
exit 0`

// systemScript asks what only some machines have: file systems, GPUs, Lustre, WEKA; and of
// each card the bridges above it, its interrupts and the head of its configuration space.
const systemScript = `k=/sys/devices/system/cpu; t=/sys/kernel/config/nvmet/subsystems
grep -sH "" $k/vulnerabilities/* $k/smt/active $k/cpu0/cpuidle/state*/name $k/cpu0/cpuidle/state*/latency $k/cpu0/cpuidle/state*/disable \
/sys/kernel/security/lockdown /sys/module/*/version /sys/module/ko2iblnd/parameters/tos /sys/module/nvidia_fs/parameters/rw_stats_enabled \
/proc/driver/nvidia/version /proc/driver/nvidia-fs/version /proc/fs/nfsd/portlist $t/*/attr_allow_any_host $t/*/attr_cntlid_min $t/*/attr_cntlid_max \
$t/*/namespaces/*/device_path $t/*/namespaces/*/device_uuid $t/*/namespaces/*/device_nguid $t/*/namespaces/*/enable
grep -sHv "^0000:0000:0000:0000:0000:0000:0000:0000" /sys/class/infiniband/*/ports/*/gids/*
grep -sH "" /sys/class/infiniband/*/ports/*/gid_attrs/types/*
grep -sHm1 "^cpu " /proc/stat
grep -sH -e " nfs4* " -e " lustre " -e " wekafs " -e "^/dev/nvme" -e "^/dev/mapper/" -e "^/dev/md" /proc/mounts
grep -sH "xprt:.rdma" /proc/self/mountstats
for d in $b; do grep -sH "" $p/$d/link/l1_aspm $p/$d/local_cpulist; done
for d in $b; do u=$(readlink -f $p/$d); echo "= $d path"; echo "$u"; echo "= $d above"; u=${u%/*}
while [ -e "$u/current_link_width" ]; do grep -sH "" $u/current_link_speed $u/current_link_width $u/max_link_speed $u/max_link_width; u=${u%/*}; done
echo "= $d irqs"; q=; for f in $p/$d/msi_irqs/*; do q="$q /proc/irq/${f##*/}/effective_affinity_list"; done; grep -sH "" $q
echo "= $d config"; od -An -v -tx1 -N256 $p/$d/config 2>&1
done
for d in /proc/driver/nvidia/gpus/*; do if [ -e "$d" ]; then echo "= ${d##*/} gpu"; readlink -f $p/${d##*/}; fi; done
if command -v nvme >/dev/null 2>&1; then for c in /sys/class/nvme/nvme*; do if grep -qs pcie $c/transport; then
echo "= ${c##*/} smart"; nvme smart-log /dev/${c##*/} -o json 2>&1; fi; done; fi
echo "= df"; df -P / /var 2>&1
echo "= units"; systemctl is-active lldpad nvmet 2>&1
echo "= links"; ip -j -d addr show 2>&1
echo "= rules"; ip -j rule show 2>&1
if [ -e /etc/cufile.json ]; then echo "= cufile"; cat /etc/cufile.json; fi
if [ -e /proc/driver/nvidia/version ]; then echo "= p2pdma"; grep -sH "^CONFIG_PCI_P2PDMA=" /boot/config-$(uname -r); fi
if [ -e /sys/module/lnet ]; then echo "= lnet"; lnetctl net show -v 4 2>&1; fi
if [ -e /sys/module/lustre ]; then echo "= lfs"; lfs check servers 2>&1; fi
if command -v weka >/dev/null 2>&1; then echo "= weka"; weka status --json 2>&1; fi`

func healthLook() remote.Look {
	return remote.Look{Args: []string{"sh", "-c", "PATH=$PATH:/usr/sbin:/sbin\n" + healthScript}, Root: true, Own: true}
}

func healthLooks() []remote.Look { return []remote.Look{healthLook()} }
