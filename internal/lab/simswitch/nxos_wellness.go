package simswitch

import (
	"fmt"
	"slices"
	"strings"
)

const sick = "; what it shows when something ails it is SYNTHETIC"

// nxosWellness are the displays of how the switch is: a SIMULATED one is well but for
// what Ail has made of it.
func nxosWellness() []Rule {
	return []Rule{
		{View: "exec", Line: "show module", Source: "ntc-templates, show module" + sick, run: nxosModules},
		{View: "exec", Line: "show environment", Source: "ntc-templates, show environment" + sick, run: nxosEnvironment},
		{View: "exec", Line: "show interface transceiver details", Source: "ntc-templates, show interface transceiver details", run: nxosOptics},
		{View: "exec", Line: "show interface", Source: "ntc-templates, show interface, shortened", run: nxosInterfaces},
		{View: "exec", Line: "show logging level", Source: "ansible-collections/cisco.nxos, plugins/module_utils, nxos_logging" + sick, run: nxosLogLevels},
	}
}

func nxosModules(s *session, _ match) {
	s.say("Mod Ports             Module-Type                      Model           Status\n--- ----- ------------------------------------- --------------------- ---------")
	s.say(fmt.Sprintf("1    %-4d SIMULATED Ethernet Module             N9K-%-17s %s\n", len(s.sw.spec.Ports), s.sw.spec.Model, s.ailing("module", "active *", "failure")))
	s.say("Mod  Sw                       Hw    Slot\n---  ----------------------- ------ ----")
	s.say(fmt.Sprintf("1    %-24s 1.0    NA", s.sw.spec.Version))
}

func nxosEnvironment(s *session, _ match) {
	rule := strings.Repeat("-", 68)
	s.say("Power Supply:\nVoltage: 12 Volts\nPower                             Actual      Actual        Total\nSupply    Model                   Output      Input      Capacity    Status\n" +
		"                                (Watts )    (Watts )     (Watts )\n-------  -------------------  ----------  ----------  ----------  --------------")
	for n := range 2 {
		state := "101 W       103 W       650 W     Ok"
		if n == 1 {
			state = s.ailing("supply", state, "  0 W         0 W         0 W     Shutdown")
		}
		s.say(fmt.Sprintf("%d        SIMULATED-PAC              %s", n+1, state))
	}
	s.say("\n\nPower Usage Summary:\n--------------------")
	s.say(fmt.Sprintf("%-57sPS-Redundant", "Power Supply redundancy mode (configured)"))
	s.say(fmt.Sprintf("%-57s%s", "Power Supply redundancy mode (operational)", s.ailing("supply", "PS-Redundant", "Non-Redundant")))
	s.say("\nFan:\n" + rule + "\nFan             Model                Hw     Direction       Status\n" + rule)
	for n := range 3 {
		state := "Ok"
		if n == 2 {
			state = s.ailing("fan", state, "Failure")
		}
		s.say(fmt.Sprintf("%-15s SIMULATED-FAN        --     front-to-back   %s", fmt.Sprintf("Fan%d(sys_fan%d)", n+1, n+1), state))
	}
	s.say("Fan Zone Speed: Zone 1: 0x80\n\n\nTemperature:\n" + rule + "\nModule   Sensor        MajorThresh   MinorThres   CurTemp     Status\n                       (Celsius)     (Celsius)    (Celsius)\n" + rule)
	s.say("1        FRONT           70              42          24         Ok\n1        CPU             90              80          " + s.ailing("warm", "42         Ok", "84         Minor"))
}

func nxosOptics(s *session, _ match) {
	for _, port := range s.sw.spec.Ports {
		s.say(port)
		if !s.sw.linked(port) {
			s.say("    transceiver is not present\n")
			continue
		}
		s.say("    transceiver is present\n    type is SIMULATED\n")
		s.say("           SFP Detail Diagnostics Information (internal calibration)\n  " + strings.Repeat("-", 76))
		s.say("                Current              Alarms                  Warnings\n                Measurement     High        Low         High          Low\n  " + strings.Repeat("-", 76))
		s.say("  Temperature   " + s.ailing("hot "+port, "35.66 C        ", "76.12 C  ++    ") + "75.00 C     -5.00 C     70.00 C        0.00 C\n  Voltage        3.29 V         3.63 V      2.97 V      3.46 V        3.13 V\n" +
			"  Current        6.42 mA       11.80 mA     4.00 mA    10.80 mA       5.00 mA\n  Tx Power      -2.05 dBm       1.69 dBm  -11.30 dBm   -1.30 dBm     -7.30 dBm\n" +
			"  Rx Power     " + s.ailing("optic "+port, " -2.45 dBm    ", "-30.45 dBm -- ") + "   2.00 dBm  -13.90 dBm   -1.00 dBm     -9.90 dBm\n  Transmit Fault Count = 0\n")
	}
}

func nxosInterfaces(s *session, _ match) {
	for _, port := range s.sw.spec.Ports {
		k := s.sw.running.kid("interface " + port)
		state, admin := "down (Link not connected)", "up"
		if s.sw.linked(port) {
			state = "up"
		}
		if k != nil && slices.ContainsFunc(k.kids, func(l *node) bool { return l.line == "shutdown" }) {
			state, admin = "down (Administratively down)", "down"
		}
		s.say(port + " is " + state + "\nadmin state is " + admin + ", Dedicated Interface")
		s.say("  Last link flapped never\n  RX\n    0 runts  0 giants  0 CRC  0 no buffer\n    0 input error  0 short frame  0 overrun   0 underrun  0 ignored\n    0 Stomped CRC\n")
	}
}

func nxosLogLevels(s *session, _ match) {
	s.say("Facility        Default Severity        Current Session Severity\n--------        ----------------        ------------------------")
	for _, name := range []string{"ethpm", "ipqosmgr", "lldp"} {
		now := "5"
		if name == "ethpm" {
			now = s.ailing("log", now, "2")
		}
		s.say(fmt.Sprintf("%-23s 5                       %s", name, now))
	}
	s.say("\n0(emergencies)          1(alerts)       2(critical)\n3(errors)               4(warnings)     5(notifications)\n6(information)          7(debugging)")
}
