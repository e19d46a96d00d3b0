package agent

import "runtime/debug"

// Version is what this executable was built from: the module's version, which
// names the commit in a build from a checkout, or "unknown".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
