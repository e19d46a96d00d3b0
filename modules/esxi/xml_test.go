package esxi

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/internal/require"
)

// document is what esxcli prints around values.
func document(values string) string {
	return `<?xml version="1.0" encoding="utf-8"?>` + "\n" + `<output xmlns="http://www.vmware.com/Products/ESX/5.0/esxcli">` + "\n<root>\n" + values + "</root>\n</output>\n"
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // of a builder, which takes all
	return b.String()
}

// structure is one with these fields, names and values in turn; a value with [] before
// it is a list of words.
func structure(pairs ...string) string {
	var b strings.Builder
	b.WriteString(`<structure typeName="Row">` + "\n")
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, `<field name="%s">`, escape(pairs[i]))
		if words, list := strings.CutPrefix(pairs[i+1], "[]"); list {
			b.WriteString(`<list type="string">`)
			for _, w := range strings.Fields(words) {
				b.WriteString("<string>" + escape(w) + "</string>")
			}
			b.WriteString("</list>")
		} else {
			b.WriteString("<string>" + escape(pairs[i+1]) + "</string>")
		}
		b.WriteString("</field>\n")
	}
	b.WriteString("</structure>\n")
	return b.String()
}

func listOf(structures ...string) string {
	return document(`<list type="structure">` + "\n" + strings.Join(structures, "") + "</list>\n")
}

// saw is what looks saw.
func saw(t *testing.T, pairs ...any) remote.Seen {
	t.Helper()
	var answers []remote.Answer
	for i := 0; i < len(pairs); i += 2 {
		answers = append(answers, remote.Answer{Look: pairs[i].(remote.Look), Sight: remote.Sight{Content: []byte(pairs[i+1].(string))}})
	}
	return remote.NewSeen(answers...)
}

// tableOf makes a document of a table that esxcli printed for people: the structured
// fields have the names of its columns without their spaces. The row of dashes says
// where they stand.
func tableOf(t *testing.T, text, heading string) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, heading) })
	if at < 0 || at+1 >= len(lines) || !strings.HasPrefix(lines[at+1], "--") {
		t.Fatalf("there is no table %q", heading)
	}
	var columns [][2]int
	dashes := lines[at+1]
	for i := 0; i < len(dashes); {
		if dashes[i] != '-' {
			i++
			continue
		}
		from := i
		for i < len(dashes) && dashes[i] == '-' {
			i++
		}
		columns = append(columns, [2]int{from, i})
	}
	columns[len(columns)-1][1] = 1 << 20
	cell := func(line string, n int) string {
		from, to := columns[n][0], columns[n][1]
		if n+1 < len(columns) {
			to = columns[n+1][0]
		}
		return strings.TrimSpace(line[min(from, len(line)):min(to, len(line))])
	}
	var rows []string
	for _, line := range lines[at+2:] {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "#") {
			break
		}
		var pairs []string
		for n := range columns {
			pairs = append(pairs, strings.ReplaceAll(cell(lines[at], n), " ", ""), cell(line, n))
		}
		rows = append(rows, structure(pairs...))
	}
	return listOf(rows...)
}

func TestParseXML(t *testing.T) {
	v, err := parseXML([]byte(document("<string>5FFEFDD7-0a51</string>\n")))
	if err != nil || v.kind != "string" || v.text != "5FFEFDD7-0a51" {
		t.Errorf("a text: %+v, %v", v, err)
	}
	if v, err = parseXML([]byte(document(""))); err != nil || v.kind != "" {
		t.Errorf("nothing: %+v, %v", v, err)
	}
	v, err = parseXML([]byte(listOf(structure("Name", "vSwitch0", "Uplinks", "[]vmnic0 vmnic1", "MTU", "1500", "CDP Enabled", "true"))))
	if err != nil {
		t.Fatal(err)
	}
	var wrong error
	r := rowsOf(v, "c", &wrong)[0]
	if r.text("name") != "vSwitch0" || !slices.Equal(r.list("Uplinks"), []string{"vmnic0", "vmnic1"}) || r.number("MTU") != 1500 || !r.flag("CDPEnabled") || wrong != nil {
		t.Errorf("%+v, %v", r, wrong)
	}
	if r.text("Class"); wrong == nil || wrong.Error() != `c: there is no field "Class"` {
		t.Errorf("a field that is missing: %v", wrong)
	}
	for _, test := range [][2]string{
		{"", "printed nothing"},
		{"Name   MTU\n-----  ----\n", "no document of esxcli"},
		{"<html></html>", "it begins with <html>"},
		{document("<string>a</string><string>b</string>"), "it has 2 values"},
		{document("<list><structure><string>a</string></structure></list>"), "found in place of a field"},
		{document("<list>text</list>"), "text next to"},
		{document(strings.Repeat("<list>", 40) + strings.Repeat("</list>", 40)), "XML nested too deeply"},
		{document("<string>a</string>") + "<more/>", "follows it"},
		{strings.TrimSuffix(document("<string>a</string>"), "</output>\n"), "unexpected EOF"},
		{document("<string>&bogus;</string>"), "cannot be read"},
	} {
		if _, err := parseXML([]byte(test[0])); err == nil || !strings.Contains(err.Error(), test[1]) {
			t.Errorf("%.60q: %v, want %q", test[0], err, test[1])
		}
	}
}

// FuzzXML: whatever a host prints, parsing ends, and what was read is as deep as
// allowed at most.
func FuzzXML(f *testing.F) {
	f.Add(listOf(structure("Name", "vmnic0", "Uplinks", "[]a b")))
	f.Add(document("<boolean>true</boolean>"))
	f.Add("<output><root><list><list/></list></root></output>")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseXML([]byte(text))
		if err != nil {
			return
		}
		var depth func(value) int
		depth = func(v value) (most int) {
			for _, i := range v.items {
				most = max(most, depth(i))
			}
			for _, i := range v.fields {
				most = max(most, depth(i.value))
			}
			return most + 1
		}
		if n := depth(v); n > deepest+1 {
			t.Errorf("%d elements stand in one another", n)
		}
		var wrong error
		for _, r := range rowsOf(v, "x", &wrong) {
			_ = r.list("Uplinks")
		}
	})
}

// The document of a host, cut after its first NIC by who published it.
func TestTranscriptXML(t *testing.T) {
	text := require.Transcript(t, "esxi/network_nic_list_xml__github_35309902912.txt")
	_, text, _ = strings.Cut(text, "\n")
	if _, err := parseXML([]byte(text)); err == nil {
		t.Error("half a document was taken for a whole one")
	}
	f, err := tellFacts(saw(t, nicsLook(), text+"</list></root></output>", rdmaLook(), listOf()), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	have, err := readAll(saw(t, nicsLook(), text+"</list></root></output>", rdmaLook(), listOf()))
	if err != nil || len(have) != 1 || len(f.NICs) != 0 {
		t.Fatalf("%+v, %v", have, err)
	}
	if n := have[0]; n.Interface != "vmnic0" || n.PCI != "0000:18:00.0" || n.MAC != "78:ac:44:07:b2:c4" || n.MTU != 1500 || n.Speed != 1e10 || !*n.Carrier || n.Driver != "ixgben" {
		t.Errorf("%+v", n)
	}
}

// The keys of --formatter=keyvalue are those of the documents.
func TestTranscriptKeyValue(t *testing.T) {
	text := require.Transcript(t, "esxi/network_nic_list_keyvalue__github_35309902912.txt")
	rows := map[string][]string{}
	var order []string
	for _, line := range strings.Split(text, "\n") {
		key, val, ok := strings.Cut(line, "=")
		part := strings.Split(key, ".")
		if !ok || len(part) != 4 || part[1] != "Nic" {
			continue
		}
		if rows[part[0]] == nil {
			order = append(order, part[0])
		}
		rows[part[0]] = append(rows[part[0]], part[2], val)
	}
	var all []string
	for _, name := range order {
		all = append(all, structure(rows[name]...))
	}
	have, err := readAll(saw(t, nicsLook(), listOf(all...), rdmaLook(), listOf()))
	if err != nil || len(have) != 3 || have[2].Interface != "vmnic2" || have[1].PCI != "0000:18:00.1" {
		t.Errorf("%+v, %v", have, err)
	}
}
