package simswitch

// nxosRefusals and comwareRefusals list what a switch says about lines that
// are well formed and not possible, for the printed grammar: View is
// "refusal", Line the text.

const fewLossless = "the limit of these models is not known: the smallest of any relative, Dell M I/O Aggregator and N4000 CLI references; text SYNTHETIC"

func nxosRefusals() []Rule {
	const synthetic = "SYNTHETIC: real texts are not known"
	return []Rule{
		{View: "refusal", Line: "ERROR: undefined class", Source: "Cisco bug CSCve72295 (Nexus 3500)"},
		{View: "refusal", Line: moduleError{}.Error(), Source: "configuration generator's README, Nexus 9500v 10.1(1); what a two-stage commit does then is SYNTHETIC"},
		{View: "refusal", Line: "ERROR: class-map NAME is in use by POLICY", Source: synthetic},
		{View: "refusal", Line: "ERROR: policy-map NAME is in use by CONTEXT", Source: synthetic},
		{View: "refusal", Line: "ERROR: policy-map NAME of type TYPE does not exist", Source: synthetic},
		{View: "refusal", Line: "ERROR: the bandwidth of POLICY is more than 100 percent", Source: synthetic},
		{View: "refusal", Line: "ERROR: POLICY: N lossless priorities; …", Source: fewLossless},
		{View: "refusal", Line: "ERROR: PORT: the interface does not exist", Source: synthetic},
		{View: "refusal", Line: "ERROR: PORT: MTU on L2 interfaces can only be set to default or system-jumboMTU",
			Source: "Cisco Nexus 9000 Interfaces Configuration Guide 10.6(x) that it is refused; text of a Nexus 7000 (blog.madnetworks.fr, MTU-Nexus 7000)"},
		{View: "refusal", Line: "ERROR: LINE is configured, not LINE", Source: synthetic},
		{View: "refusal", Line: "ERROR: LINE: there is no such thing", Source: synthetic},
		{View: "refusal", Line: "ERROR: a confirmed commit of another session is waiting for its confirmation", Source: synthetic},
		{View: "refusal", Line: "ERROR: no space left on device", Source: synthetic},
		{View: "refusal", Line: "% Permission denied for the role", Source: synthetic},
		{View: "refusal", Line: "Failed. err=REASON, then: commit verification failed",
			Source: "lab notes of a virtual Nexus 10.x; reasons as above"},
	}
}

func comwareRefusals() []Rule {
	const synthetic = "SYNTHETIC: real texts are not known"
	return []Rule{
		{View: "refusal", Line: "ERROR: WRED table NAME is in use by CONTEXT", Source: "HPE 5900 manual that it is refused; text SYNTHETIC"},
		{View: "refusal", Line: "ERROR: WRED table NAME does not exist", Source: synthetic},
		{View: "refusal", Line: "ERROR: the high limit must be greater than the low limit",
			Source: "HPE 5130 HI ACL and QoS command reference (queue) that it must; text SYNTHETIC"},
		{View: "refusal", Line: "ERROR: CONTEXT: WFQ is not enabled", Source: "H3C Comware 7 command reference that it comes first; text SYNTHETIC"},
		{View: "refusal", Line: "ERROR: CONTEXT: WFQ counts in UNIT", Source: synthetic},
		{View: "refusal", Line: "ERROR: PORT: N lossless priorities; …", Source: fewLossless},
		{View: "refusal", Line: "ERROR: CONTEXT: PFC is not enabled", Source: "H3C Comware 7 command reference that deadlock detection needs it; text SYNTHETIC"},
		{View: "refusal", Line: "ERROR: data buffers are applied and cannot be directly modified",
			Source: "H3C S12500X-AF ACL and QoS command reference, buffer apply; text SYNTHETIC"},
		{View: "refusal", Line: "ERROR: PORT: the interface does not exist", Source: synthetic},
		{View: "refusal", Line: "ERROR: no space left on device", Source: synthetic},
		{View: "refusal", Line: "Permission denied.", Source: "SYNTHETIC: the real text is not known"},
		{View: "refusal", Line: "ERROR: no configuration commit delay is running", Source: synthetic},
	}
}
