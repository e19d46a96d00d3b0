package target

import (
	"testing"

	"go.uber.org/goleak"

	"weft/internal/require"
)

func TestMain(m *testing.M) {
	require.Patience(8)
	goleak.VerifyTestMain(m)
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"twice":     func(c *Config) { c.Subsystems[1].NQN = subNQN },
		"discovery": func(c *Config) { c.Subsystems[1].NQN = "nqn.2014-08.org.nvmexpress.discovery" },
		"name":      func(c *Config) { c.Subsystems[0].NQN = "data" },
		"id 0":      func(c *Config) { c.Subsystems[0].Namespaces[0].ID = 0 },
		"id all":    func(c *Config) { c.Subsystems[0].Namespaces[0].ID = 0xffffffff },
		"id twice":  func(c *Config) { c.Subsystems[0].Namespaces[0].ID = 3 },
	} {
		c := config(t)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
		for _, n := range c.Subsystems[0].Namespaces {
			if err := n.Backend.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
