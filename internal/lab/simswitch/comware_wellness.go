package simswitch

// comwareWellness are the displays of how the switch is: a SIMULATED one is well but for
// what Ail has made of it.
func comwareWellness() []Rule {
	return []Rule{
		{View: "any", Line: "display device", Source: "H3C Comware 7 command reference, sample of display device" + sick, run: func(s *session, _ match) {
			s.say("Slot No.   Brd Type        Brd Status   Software Version\n 1          SIMULATED       " + s.ailing("module", "Master       ", "Fault        ") + s.sw.spec.Version)
		}},
		{View: "any", Line: "display fan", Source: "public parsers of Comware 7, display fan and display power" + sick, run: func(s *session, _ match) {
			s.say("Slot 1:\nFanID    Status      Direction\n1        Normal      Back-to-front\n2        " + s.ailing("fan", "Normal", "Fault ") + "      Back-to-front")
		}},
		{View: "any", Line: "display power", Source: "public parsers of Comware 7, display fan and display power" + sick, run: func(s *session, _ match) {
			s.say("Slot 1:\nPowerID State    Mode   Current(A)  Voltage(V)  Power(W)  FanDirection")
			s.say("1       Normal   AC     --          --          --        Back-to-front\n2       " + s.ailing("supply", "Normal", "Fault ") + "   AC     --          --          --        Back-to-front")
		}},
		{View: "any", Line: "display environment", Source: "H3C Comware 7 command reference, sample of display environment" + sick, run: func(s *session, _ match) {
			s.say("System temperature information (degree centigrade):\n----------------------------------------------------------------------------------")
			s.say("Slot  Sensor       Temperature  LowerLimit  WarningLimit  AlarmLimit ShutdownLimit\n1     inflow 1     27           -10         50            70          100\n1     hotspot 1    " + s.ailing("warm", "53", "84") + "           10          80            90          100")
		}},
		{View: "any", Line: "display transceiver diagnosis interface", Source: "published notes of an H3C core switch, display transceiver diagnosis", run: comwareOptics},
	}
}

func comwareOptics(s *session, _ match) {
	for _, port := range s.sw.spec.Ports {
		s.say(port + " transceiver diagnostic information:")
		if !s.sw.linked(port) {
			s.say("  The transceiver is absent.")
			continue
		}
		s.say("  Current diagnostic parameters:\n    Temp.(C) Voltage(V)  Bias(mA)  RX power(dBm)  TX power(dBm)\n    " +
			s.ailing("hot "+port, "42", "81") + "         3.41        6.42      " + s.ailing("optic "+port, " -2.55", "-36.96") + "         -2.71")
		s.say("  Alarm thresholds:\n          Temp.(C) Voltage(V)  Bias(mA)  RX power(dBm)  TX power(dBm)\n    High  80         3.60        15.00     0.00           0.00\n    Low   -15        3.00        0.00      -10.90         -8.30")
	}
}
