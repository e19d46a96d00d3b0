package nvme

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Rules of udev set attributes of connections by the model of the array: nvme-cli ships
// 71-nvmf-*.rules. See udev(7) for files, order and operators.

// rulesScript prints the files of rules that name an attribute which weft sets. A file
// replaces those of the same name in the directories after its own.
const rulesScript = `for f in $(grep -sl -e "iopolicy}" -e "ctrl_loss_tmo}" -e "reconnect_delay}" -e "fast_io_fail_tmo}" /etc/udev/rules.d/*.rules /run/udev/rules.d/*.rules ` +
	`/usr/local/lib/udev/rules.d/*.rules /usr/lib/udev/rules.d/*.rules /lib/udev/rules.d/*.rules); do n=${f##*/}; ` +
	`for d in /etc /run /usr/local/lib /usr/lib /lib; do if [ -e "$d/udev/rules.d/$n" ]; then break; fi; done; ` +
	`if [ "$d/udev/rules.d/$n" = "$f" ]; then echo "rules $f"; while read -r v; do echo "| $v"; done <"$f"; fi; done; `

// udevRules are what a server sets on connections by itself.
type udevRules struct {
	usual string // the policy of subsystems that the kernel begins with; "": not shown
	files []ruleFile
}

type ruleFile struct {
	name  string
	lines []string
}

// A ruled is a value that a rule sets.
type ruled struct {
	value string
	place string // file and line
	sure  bool   // all of the rule's conditions are known to hold
}

// An event is what rules are matched with: a device that the kernel reports.
type event struct {
	subsystem, kernel string
	attrs             map[string]string
}

// set returns the values that rules set on a device when it is added or changes. Files are
// processed by their names, and the last assignment stays.
func (u udevRules) set(e event) map[string]ruled {
	files := slices.Clone(u.files)
	slices.SortStableFunc(files, func(a, b ruleFile) int { return strings.Compare(path.Base(a.name), path.Base(b.name)) })
	out := map[string]ruled{}
	for _, f := range files {
		for _, action := range []string{"add", "change"} {
			f.apply(e, action, out)
		}
	}
	return out
}

// A match is how a condition, or all those of a rule, come out.
type match int

const (
	holds match = iota
	unsure
	fails
)

func (f ruleFile) apply(e event, action string, out map[string]ruled) {
	skipTo, doubt := "", "" // the labels up to which lines are skipped, or may be
	begin, text := 0, ""
	for i, line := range f.lines {
		if text == "" {
			begin = i + 1
		}
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		if part, more := strings.CutSuffix(line, `\`); more {
			text += part
			continue
		}
		pairs := rulePairs(text + line)
		text = ""
		if label := valueOf(pairs, "LABEL"); label != "" {
			if label == skipTo {
				skipTo = ""
			}
			if label == doubt {
				doubt = ""
			}
		}
		if skipTo != "" {
			continue
		}
		result := holds
		for _, p := range pairs {
			result = max(result, e.match(p, action))
		}
		if result == fails {
			continue
		}
		if doubt != "" {
			result = unsure
		}
		for _, p := range pairs {
			if attr, ok := p.attribute("ATTR"); ok && (p.op == "=" || p.op == ":=") {
				out[attr] = ruled{value: p.value, place: fmt.Sprintf("%s:%d", f.name, begin), sure: result == holds}
			}
		}
		switch to := valueOf(pairs, "GOTO"); {
		case to == "":
		case result == holds:
			skipTo = to
		default:
			doubt = to
		}
	}
}

// match compares one condition. What is not an attribute that weft has read is not known.
func (e event) match(p rulePair, action string) match {
	if p.op != "==" && p.op != "!=" {
		return holds
	}
	var have string
	attr, isAttr := p.attribute("ATTR")
	if parent, ok := p.attribute("ATTRS"); ok {
		attr, isAttr = parent, true
	}
	switch {
	case p.key == "ACTION":
		have = action
	case p.key == "SUBSYSTEM" || p.key == "SUBSYSTEMS":
		have = e.subsystem
	case p.key == "KERNEL" || p.key == "KERNELS":
		have = e.kernel
	case isAttr && e.attrs[attr] != "":
		have = e.attrs[attr]
	default:
		return unsure
	}
	found := slices.ContainsFunc(strings.Split(p.value, "|"), func(pattern string) bool {
		ok, err := path.Match(strings.ReplaceAll(strings.TrimRight(pattern, " "), "/", "\x00"), strings.ReplaceAll(strings.TrimRight(have, " "), "/", "\x00"))
		return ok && err == nil
	})
	if found == (p.op == "==") {
		return holds
	}
	return fails
}

// A rulePair is one condition or assignment of a rule.
type rulePair struct{ key, op, value string }

// attribute is what stands in the braces of a key.
func (p rulePair) attribute(of string) (string, bool) {
	rest, ok := strings.CutPrefix(p.key, of+"{")
	return strings.TrimSuffix(rest, "}"), ok
}

func valueOf(pairs []rulePair, key string) string {
	for _, p := range pairs {
		if p.key == key {
			return p.value
		}
	}
	return ""
}

// rulePairs takes a line apart: KEY{attribute} OPERATOR "value", with commas between.
func rulePairs(line string) (list []rulePair) {
	for line != "" {
		i := strings.IndexByte(line, '"')
		if i < 0 {
			return list
		}
		head := strings.Trim(line[:i], " \t,ei") // a value may have a prefix
		j := strings.IndexByte(line[i+1:], '"')
		if j < 0 {
			return list
		}
		value := line[i+1 : i+1+j]
		line = line[i+j+2:]
		k := strings.IndexAny(head, "=!+-:")
		if k < 0 {
			continue
		}
		if end := strings.IndexByte(head, '}'); end > k {
			k = end + 1
		}
		list = append(list, rulePair{key: strings.TrimSpace(head[:k]), op: strings.TrimSpace(head[k:]), value: value})
	}
	return list
}
