package comware

import "testing"

func TestWarmth(t *testing.T) {
	const slots = " System temperature information (degree centigrade):\n----------\nSlot  Sensor       Temperature  LowerLimit  WarningLimit  AlarmLimit ShutdownLimit\n"
	const bare = " System Temperature information (degree centigrade):\r\n---\r\n Sensor   Temperature LowerLimit Warning-UpperLimit  Alarm-UpperLimit Shutdown-UpperLimit\r\n"
	for name, c := range map[string]struct{ text, want string }{
		"well":          {slots + "Vent  outflow 1    38           10          40            50          70\n0     hotspot 1    49           10          50            80          100\n", ""},
		"warm":          {slots + "0     inflow 1     27           -10         50            70          100\n0     hotspot 1    50           10          50            80          100\n", "slot 0 hotspot 1: it is 50 °C, and its own limit to warn is 50"},
		"without slots": {bare + "inflow  1      60          0              60                70                NA\r\noutflow 1      47          0              80                92                NA\r\n", "inflow 1: it is 60 °C, and its own limit to warn is 60"},
		"no warning":    {bare + "inflow  1      70          0              NA                70                NA\n", "inflow 1: it is 70 °C, and its own limit to alarm is 70"},
		"no limits":     {bare + "inflow  1      70          0              NA                NA                NA\n", "not understood"},
		"cold":          {slots + "1     inflow 1     -3           -10         50            70          100\n", ""},
		"other columns": {" SlotNo  Sensor    Status     Current  Lower  Upper  Critical\n 1       Inlet     Normal     38       5      55     60\n", "not understood"},
		"cut off":       {slots + "0     inflow 1     27           -10", "not understood"},
		"nothing":       {"", "not understood"},
	} {
		list, ok := warmth(c.text)
		got := ""
		for _, one := range list {
			got += one.Part + ": " + one.Text
		}
		if !ok {
			got = "not understood"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
