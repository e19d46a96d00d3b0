package host

// Origins names what a system reads its facts with, for people.
type Origins struct {
	System string
	Model  string
	Lanes  string // of PCIe; "": weft does not read them there
	RDMA   string
	Drives string // "": weft does not read them there

	Enable string // what gives a capable card its RDMA device; %s is the module, where the catalogue has it
	Serves bool   // weft can run a target there
}
