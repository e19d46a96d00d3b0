package doctor

// A Row is one of the catalogue that is not checked yet, and why.
type Row struct{ ID, Title, Why string }

const (
	needsTool   = "needs a vendor's tool on the machine (mlxconfig, mlxlink, gdscheck, nvidia-smi)"
	needsProbe  = "needs traffic; see weft verify"
	validated   = "reported by weft validate or weft plan"
	unsureLimit = "no published limit"
	noLayout    = "no recorded output"
)

// LeftOut are the rows of the catalogue that no check is made of.
func LeftOut() []Row {
	return []Row{
		{"WD-PCI-05", "relaxed ordering is off", needsTool},
		{"WD-PCI-06", "outstanding reads of a card", needsTool},
		{"WD-PCI-07", "ACS between GPU and NIC", "WD-GPU-11 checks machines with GPUs; on other machines traffic passes through memory"},
		{"WD-FW-03", "firmware settings that need a reset", needsTool},
		{"WD-FW-07", "BIOS profile", unsureLimit},
		{"WD-LNK-05", "bit error rate", needsTool},
		{"WD-LNK-14", "fewer lanes than the other end", unsureLimit},
		{"WD-MTU-03", "different MTU per direction", needsProbe},
		{"WD-QOS-05", "marking", needsProbe},
		{"WD-QOS-11", "headroom for the cable", unsureLimit},
		{"WD-QOS-20", "too many lossless classes", "no published limit per model; weft validate warns about several lossless classes"},
		{"WD-RDM-13", "renamed RDMA devices", "weft identifies NICs by PCI address"},
		{"WD-RDM-15", "Soft-RoCE beside PFC", "covered by WD-RDM-14"},
		{"WD-OS-03", "settings that do not survive a reboot", "tested by weft verify reboot"},
		{"WD-NVM-14", "UUIDs that change", validated},
		{"WD-NVM-19", "reconnects", "kernels do not count them; WD-NVM-01 reports a lost path"},
		{"WD-NVM-24", "a busy target", needsProbe},
		{"WD-NVM-25", "keys of DH-HMAC-CHAP", "doctor reads no secrets; weft validate compares the keys in the files"},
		{"WD-GPU-06", "GPUDirect Storage does not support NVMe-oF", needsTool},
		{"WD-GPU-09", "traffic across roots", noLayout},
		{"WD-GPU-10", "a small BAR", needsTool},
		{"WD-GPU-16", "a file system without GPUDirect support", "devices do not report the file systems that GPUs read"},
		{"WD-FS-08", "RDMA of WEKA", noLayout},
		{"WD-WIN-10", "event 263 of mlx5: incompatible firmware and driver", noLayout},
		{"WD-WIN-11", "minimum driver version", "the list of Validate-DCB is from 2021; WD-WIN-07 compares installed versions"},
		{"WD-WIN-12", "members of a virtual switch, and its vNICs", "not managed; weft plan refuses them by name"},
		{"WD-WIN-13", "EncapOverhead", unsureLimit},
	}
}
