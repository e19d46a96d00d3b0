#!/bin/sh
# Runs inside the new Debian, in namespaces of its own, and makes it a guest of
# the lab. The folder /recipe holds what it needs.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc

# Speed: nothing is synced, no manuals, no initrd of Debian's, no daemons.
cat >/etc/dpkg/dpkg.cfg.d/lab <<X
force-unsafe-io
force-confold
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*
X
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
mkdir -p /etc/initramfs-tools
echo update_initramfs=no >/etc/initramfs-tools/update-initramfs.conf
export INITRD=No
apt-get -q -o Acquire::Retries=3 update
# shellcheck disable=SC2046
apt-get -q -y -o Acquire::Retries=3 --no-install-recommends install $(cat /recipe/packages)

# A repository of its own: guests reach no mirror, and packages must be
# installable in them all the same.
mkdir -p /srv/apt
apt-get clean
# shellcheck disable=SC2046
apt-get -q -y -o Acquire::Retries=3 --no-install-recommends --download-only install $(cat /recipe/installable)
mv /var/cache/apt/archives/*.deb /srv/apt/
cd /srv/apt
for deb in *.deb; do
	dpkg-deb -f "$deb"
	printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d' ' -f1)"
done >Packages
rm -f /etc/apt/sources.list.d/* /usr/sbin/policy-rc.d
echo 'deb [trusted=yes] file:/srv/apt ./' >/etc/apt/sources.list
apt-get clean
rm -rf /var/lib/apt/lists/*
apt-get -q update

# Modules that Debian does not build.
kernel=$(ls /lib/modules)
mkdir -p /tmp/siw "/lib/modules/$kernel/extra"
cd /tmp/siw
tar xJf /usr/src/linux-source-*.tar.xz --wildcards --strip-components=5 '*/drivers/infiniband/sw/siw'
rm -f Makefile
echo "obj-m := siw.o
siw-y := $(ls siw_*.c | sed 's/c$/o/' | tr '\n' ' ')" >Kbuild
make -s -j2 -C "/lib/modules/$kernel/build" M=/tmp/siw modules
make -s -j2 -C "/lib/modules/$kernel/build" M=/recipe/dcb modules
cp siw.ko /recipe/dcb/weft_dcb.ko "/lib/modules/$kernel/extra/"
cd /
rm -rf /tmp/siw /usr/src/linux-source-*.tar.xz

# The modules that guests load are neither compressed nor signed: to unpack one
# and to check it takes an emulated processor longer than all the rest.
depmod "$kernel"
for module in autofs4 configfs ext4 nfnetlink nvme-rdma nvme-tcp nvmet-rdma nvmet-tcp raid1 raid10 rdma_rxe rdma_ucm \
	dm-mod ib_umad qemu_fw_cfg ip_tables virtio_blk virtio_net virtio_rng; do
	modprobe --set-version "$kernel" --show-depends "$module"
done | awk '$2 ~ /xz$/ && !seen[$2]++ { print $2 }' >/tmp/loaded
while read -r file; do
	unxz "$file"
	strip --strip-debug "${file%.xz}"
done </tmp/loaded
depmod "$kernel"

# The initrd: busybox, the modules of the disk and the network, nothing else.
mkdir -p /initrd/bin /initrd/modules
cp /bin/busybox /initrd/bin/busybox
cp /recipe/init /initrd/init
chmod 755 /initrd/init
for module in virtio_blk ext4 virtio_net; do
	modprobe --set-version "$kernel" --show-depends "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >/tmp/order
while read -r file; do
	cp "$file" /initrd/modules/
	basename "$file" >>/initrd/modules/order
done </tmp/order
(cd /initrd && find . | cpio --quiet -o -H newc) >/boot/lab.initrd
cp "/boot/vmlinuz-$kernel" /boot/lab.kernel
rm -rf /initrd /tmp/order /tmp/loaded

# What a guest is: SSH with the lab's key for everybody, sudo without a
# password, no units that only cost time.
cat >/etc/ssh/sshd_config.d/lab.conf <<X
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
UseDNS no
X
# Of a login's modules only the one that sets limits: the others take as long as
# the rest of it.
printf '%s required pam_permit.so\n' auth account password >/etc/pam.d/sshd
echo 'session required pam_limits.so' >>/etc/pam.d/sshd
echo 'ALL ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers.d/lab
chmod 440 /etc/sudoers.d/lab
rm -f /etc/ssh/ssh_host_* /etc/machine-id /var/lib/dbus/machine-id
echo '/dev/vda / ext4 noatime 0 0' >/etc/fstab
: >/etc/resolv.conf
cat >/etc/systemd/system/lab-start.service <<X
[Unit]
Description=what a guest of the lab has that no image can
Before=ssh.service network-pre.target
Wants=network-pre.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=mkdir /run/lock
ExecStart=/bin/sh /lab/start.sh
[Install]
WantedBy=multi-user.target
X
usermod -s /bin/sh root # bash takes longer to start
systemctl -q enable ssh.service lab-start.service
systemctl -q set-default multi-user.target
systemctl -q disable nvmf-autoconnect.service
systemctl -q mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
	fstrim.timer mdcheck_start.timer mdcheck_continue.timer mdmonitor-oneshot.timer systemd-tmpfiles-clean.timer \
	getty@tty1.service serial-getty@ttyS0.service systemd-logind.service systemd-pstore.service systemd-rfkill.service \
	systemd-networkd.service systemd-timesyncd.service systemd-update-utmp.service systemd-random-seed.service \
	modprobe@drm.service modprobe@efi_pstore.service modprobe@fuse.service sys-fs-fuse-connections.mount \
	systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-network-generator.service \
	systemd-udev-load-credentials.service systemd-machine-id-commit.service systemd-journal-catalog-update.service \
	dev-hugepages.mount dev-mqueue.mount sys-kernel-tracing.mount sys-kernel-debug.mount tmp.mount run-lock.mount \
	kmod-static-nodes.service systemd-tmpfiles-setup-dev-early.service systemd-tmpfiles-setup-dev.service \
	systemd-journal-flush.service systemd-journald-audit.socket systemd-remount-fs.service systemd-user-sessions.service \
	systemd-tmpfiles-setup.service sshd-keygen.service lvm2-monitor.service rdma-ndd.service iwpmd.service fio.service
# Nor what is there for hardware or a start that guests do not have: systemd reads
# all units at its start and at each daemon-reload, udev all rules.
cd /usr/lib/systemd/system
rm -rf -- *initrd* *pcr* *tpm2* *ask-password* *hibernate* *suspend* *sleep* *battery* *bsod* *sysext* *confext* \
	systemd-creds* *initctl* *soft-reboot* *kexec* *firstboot* *first-boot* *hwdb* *growfs* *getty* *console* *rc-local* \
	*debug* *sysusers* *ldconfig* *update-done* *journal-catalog* *hostnamed* *localed* *timedated* *nvmefc*
find . -xtype l -delete
cd /usr/lib/udev/rules.d
rm -f -- *alsa* *autosuspend* *btrfs* *camera* *cdrom* *drm* *evdev* *fido* *input* *joystick* *mouse* *mtd* *power-switch* \
	*seat* *sensor* *sound* *tape* *touchpad* *uaccess* *v4l*
cd /
# Generators of what guests do not have.
mkdir -p /etc/systemd/system-generators
for generator in cryptsetup debug gpt-auto hibernate-resume tpm2 veritysetup integritysetup bless-boot factory-reset rc-local system-update run ssh getty sysv; do
	ln -s /dev/null "/etc/systemd/system-generators/systemd-$generator-generator"
done
# Only what guests have is announced at start: the rest would load, one by one,
# modules for hardware that is not there.
mkdir -p /etc/systemd/system/systemd-udev-trigger.service.d
cat >/etc/systemd/system/systemd-udev-trigger.service.d/lab.conf <<X
[Service]
ExecStart=
ExecStart=-udevadm trigger --type=all --action=add --prioritized-subsystem=block,net --subsystem-match=block --subsystem-match=net --subsystem-match=infiniband --subsystem-match=nvme
X
# Emulation on a busy machine is slow, and nothing is wrong with that.
mkdir -p /etc/systemd/system.conf.d /etc/systemd/journald.conf.d
printf '[Manager]\nDefaultTimeoutStartSec=20min\nDefaultTimeoutStopSec=20min\nDefaultDeviceTimeoutSec=20min\n' >/etc/systemd/system.conf.d/lab.conf
# Auditing stays off, but is there: where it is not, each login asks eight times
# for a module with it.
printf '[Journal]\nStorage=volatile\nAudit=no\n' >/etc/systemd/journald.conf.d/lab.conf
# Nothing has changed since the packages were configured: systemd need not look.
ldconfig
systemd-hwdb update
touch /etc/.updated /var/.updated
rm -rf /recipe
umount /proc
