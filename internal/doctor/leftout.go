package doctor

// A Row is one of the catalogue that is not checked yet, and why.
type Row struct{ ID, Title, Why string }

const (
	needsTool   = "it needs a vendor's tool on the machine (mlxconfig, mlxlink, gdscheck, nvidia-smi)"
	needsProbe  = "it takes traffic, which weft verify makes"
	validated   = "weft validate or weft plan says it already"
	unsureLimit = "no limit with a source is known"
	noLayout    = "its output is not known well enough: no recording was found"
)

// LeftOut are the rows of the catalogue that no check is made of.
func LeftOut() []Row {
	return []Row{
		{"WD-PCI-05", "relaxed ordering is off", needsTool},
		{"WD-PCI-06", "outstanding reads of a card", needsTool},
		{"WD-PCI-07", "ACS between GPU and NIC", "WD-GPU-11 judges it where there are GPUs; elsewhere what passes goes through memory anyway"},
		{"WD-FW-03", "firmware settings that wait for a reset", needsTool},
		{"WD-FW-07", "BIOS profile", unsureLimit},
		{"WD-LNK-05", "bit error rate", needsTool},
		{"WD-LNK-14", "fewer lanes than the other end", unsureLimit},
		{"WD-MTU-03", "another MTU each way", needsProbe},
		{"WD-QOS-05", "marking", needsProbe},
		{"WD-QOS-11", "headroom for the cable", unsureLimit},
		{"WD-QOS-20", "too many lossless classes", "how many a model takes is in no document that was found: the catalogue has no figure to compare with, and weft validate warns where a fabric has several"},
		{"WD-RDM-13", "renamed RDMA devices", "weft knows NICs by PCI address"},
		{"WD-RDM-15", "Soft-RoCE beside PFC", "WD-RDM-14 tells software RDMA"},
		{"WD-OS-03", "settings that no start brings back", "weft verify reboot proves it"},
		{"WD-NVM-14", "UUIDs that change", validated},
		{"WD-NVM-19", "reconnects", "kernels do not count them; a path that is away is told by WD-NVM-01"},
		{"WD-NVM-24", "a busy target", needsProbe},
		{"WD-NVM-25", "keys of DH-HMAC-CHAP", "doctor reads no secrets; weft validate compares those of the files"},
		{"WD-GPU-06", "GPUDirect Storage does not do NVMe-oF", needsTool},
		{"WD-GPU-09", "traffic across roots", noLayout},
		{"WD-GPU-10", "a small BAR", needsTool},
		{"WD-GPU-16", "a file system that GPUDirect does not do", "which file systems GPUs read is not known from outside"},
		{"WD-FS-08", "RDMA of WEKA", noLayout},
		{"WD-WIN-10", "event 263 of mlx5: firmware and driver do not fit", noLayout},
		{"WD-WIN-11", "the least version of a driver", "the list of Validate-DCB is of 2021: WD-WIN-07 compares what there is"},
		{"WD-WIN-12", "members of a virtual switch, and its vNICs", "weft plan refuses them by name: they are not managed"},
		{"WD-WIN-13", "EncapOverhead", unsureLimit},
	}
}
