package storage

// diskUsers prints what uses the disk $n, in lines that begin with "user".
const DiskUsers = `for h in "/sys/block/$n/holders/"* "/sys/block/$n/$n"p*/holders/*; do if [ -e "$h" ]; then d=${h##*/}; ` +
	`if [ -e "/sys/block/$d/dm/name" ]; then read -r d <"/sys/block/$d/dm/name"; fi; echo "user $d is built on /dev/$n"; fi; done; ` +
	`while read -r what where rest; do case $what in "/dev/$n"|"/dev/$n"p[0-9]*) echo "user $what is mounted on $where";; esac; done </proc/self/mounts; ` +
	`while read -r what rest; do case $what in "/dev/$n"|"/dev/$n"p[0-9]*) echo "user $what is swap";; esac; done </proc/swaps; `

// nvmetDir is where the kernel's target is configured, which may export a disk.
const NVMeT = "/sys/kernel/config/nvmet"
