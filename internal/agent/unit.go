package agent

import "strings"

// UnitText is the systemd unit that runs weft-target: weft writes it to
// UnitPath + Unit.
func UnitText() string {
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
		"LimitMEMLOCK=infinity",
		"LimitNOFILE=65536",
		"NoNewPrivileges=yes",
		"ProtectSystem=full",
		"ProtectHome=yes",
		"ProtectKernelModules=yes",
		"ProtectKernelTunables=yes",
		"ProtectControlGroups=yes",
		"RestrictNamespaces=yes",
		"RestrictRealtime=yes",
		"LockPersonality=yes",
		"RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
		"SystemCallArchitectures=native",
		"",
		"[Install]",
		"WantedBy=multi-user.target",
		"",
	}, "\n")
}
