package agent

import (
	"fmt"
	"path"
	"strings"
)

// UnitText is the systemd unit that runs weft-target for an owner: weft writes it
// to UnitPath + Unit. Its settings are those of systemd.service(5),
// systemd.exec(5), systemd.resource-control(5) and systemd.unit(5).
//
// The process is root's, because what weft has it export are block devices, which
// belong to root, as those of RDMA do where udev has no rules for them; any other
// user who may write to all disks is no less. But it has none of root's powers
// except to listen on a privileged port, and sees a system that it cannot change:
// it writes to its devices, to the records of its mirrors and to the folder of its
// status socket, which it shares with weft's lease.
func UnitText(owner string) string {
	mirrors := strings.TrimPrefix(path.Dir(fmt.Sprintf(MirrorState, owner, "")), "/var/lib/")
	run := strings.TrimPrefix(path.Dir(SocketPath), "/run/")
	return strings.Join([]string{
		"# Written by weft: the next apply replaces what is changed here.",
		"[Unit]",
		"Description=weft NVMe over Fabrics target",
		"Wants=network-online.target",
		"After=network-online.target",
		"StartLimitIntervalSec=0", // an address that is not there yet is waited for
		"",
		"[Service]",
		"Type=notify",
		"ExecStart=" + TargetBin + " serve --config " + ConfigPath,
		"ExecReload=/bin/kill -HUP $MAINPID",
		"Restart=on-failure",
		"RestartSec=2s",
		"RestartPreventExitStatus=64",
		"TimeoutStopSec=30s",
		"RuntimeDirectory=" + run,
		"RuntimeDirectoryPreserve=yes",
		"StateDirectory=" + mirrors,
		"StateDirectoryMode=0700",
		"UMask=0077",
		"LimitMEMLOCK=infinity", // of RDMA
		"LimitNOFILE=65536",
		"TasksMax=8192", // threads that wait for disks
		"MemoryMax=50%", // should its own bounds fail, the server goes on without it, not it without the server
		"CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
		"NoNewPrivileges=yes",
		"ProtectSystem=strict",
		"ProtectHome=yes",
		"ProtectProc=invisible",
		"ProtectHostname=yes",
		"ProtectKernelLogs=yes",
		"ProtectKernelModules=yes",
		"ProtectKernelTunables=yes",
		"ProtectControlGroups=yes",
		"PrivateTmp=yes",
		"PrivateMounts=yes",
		"RestrictNamespaces=yes",
		"RestrictRealtime=yes",
		"RestrictSUIDSGID=yes",
		"RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK", // the last for RDMA's libraries
		"LockPersonality=yes",
		"MemoryDenyWriteExecute=yes",
		"SystemCallArchitectures=native",
		"SystemCallFilter=@system-service",
		"SystemCallFilter=~@privileged",
		"SystemCallErrorNumber=EPERM",
		"",
		"[Install]",
		"WantedBy=multi-user.target",
		"",
	}, "\n")
}
