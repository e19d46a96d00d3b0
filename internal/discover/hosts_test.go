package discover

import (
	"fmt"
	"strings"
	"testing"
)

func TestSources(t *testing.T) {
	for name, c := range map[string]struct {
		parse func([]byte) ([]Named, error)
		text  string
		want  string // "host=name …", or "error: words"
	}{
		"csv with names of columns":   {ParseCSV, "\xef\xbb\xbfname, host ,rack\nst1,st1.example.net,7\n\n# no\ncn1,192.0.2.1\n", "st1.example.net=st1 192.0.2.1=cn1"},
		"csv with users":              {ParseCSV, "host,user\nesx1,root\nst1,\n", "esx1= by root st1="},
		"csv without":                 {ParseCSV, "st1.example.net,st1\ncn1\n", "st1.example.net=st1 cn1="},
		"csv, twice":                  {ParseCSV, "host\nst1\nst1\n", "st1="},
		"csv without a host":          {ParseCSV, "name,rack\nst1,7\n", "error: none of them is host"},
		"csv with an option":          {ParseCSV, "host\n-oProxyCommand=x\n", `error: line 2: "-oProxyCommand=x" is no host`},
		"csv with an open quote":      {ParseCSV, "host\n\"st1\n", "error: cannot be read"},
		"csv, nothing":                {ParseCSV, "", ""},
		"ansible in YAML":             {ParseAnsible, "all:\n  hosts:\n    st10:\n    st2: {ansible_host: 192.0.2.2, x: [1]}\n  children:\n    compute:\n      hosts: {cn1: }\n", "cn1=cn1 192.0.2.2=st2 st10=st10"},
		"ansible in lines":            {ParseAnsible, "# site\nlone\n[storage]\nst1 ansible_host='192.0.2.1' x=y # first\n[storage:vars]\na=b\n[all:children]\nstorage\n", "lone=lone 192.0.2.1=st1"},
		"ansible with users in YAML":  {ParseAnsible, "all:\n  vars: {ansible_user: weft}\n  hosts:\n    esx1:\n  children:\n    esx:\n      vars: {ansible_user: root}\n      hosts:\n        esx1:\n        esx2: {ansible_user: admin}\n    linux: {hosts: {st1: }}\n", "esx1=esx1 by root esx2=esx2 by admin st1=st1 by weft"},
		"ansible with users in lines": {ParseAnsible, "lone\n[esx]\nesx1\nesx2 ansible_user=admin\n[esx:vars]\nansible_user = 'root'\n[hosts:children]\nwin\n[win]\nw1\n[hosts:vars]\nansible_user=Administrator\n[all:vars]\nansible_user=weft\n", "lone=lone by weft esx1=esx1 by root esx2=esx2 by admin w1=w1 by Administrator"},
		"ansible with a range":        {ParseAnsible, "[storage]\nst[1:9]\n", `error: line 2: "st[1:9]" is no host`},
		"ansible that is no mapping":  {ParseAnsible, "a: b: c\n", "error: cannot be read as YAML"},
		"ansible with a number":       {ParseAnsible, "all: {hosts: {7: }}\n", `error: "7" is no host`},
		"csv with a number":           {ParseCSV, "host\nst1\n1\n", `error: line 3: "1" is no host`},
		"ansible, nothing":            {ParseAnsible, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := c.parse([]byte(c.text))
			var got []string
			for _, m := range list {
				one := m.Host + "=" + m.Name
				if m.User != "" {
					one += " by " + m.User
				}
				got = append(got, one)
			}
			if words, fails := strings.CutPrefix(c.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("%v, want %s", err, words)
				}
			} else if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
}

// FuzzSources: whatever a file holds, what comes of it can be dialled, and once.
func FuzzSources(f *testing.F) {
	for _, text := range []string{"", "host,name\nst1,x\n", "all:\n  hosts:\n    st1:\n", "[a]\nst1 ansible_host=x\n", "a: &a [*a]", "\"", "- -"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, parse := range []func([]byte) ([]Named, error){ParseCSV, ParseAnsible} {
			list, err := parse(text)
			if err != nil {
				continue
			}
			seen := map[string]bool{}
			for _, m := range list {
				if !dialable(m.Host) || seen[m.Host] {
					t.Errorf("%v", m)
				}
				seen[m.Host] = true
			}
		}
	})
}

func TestParseHosts(t *testing.T) {
	list, err := ParseHosts("st1, st2 ,,st1,[::1]")
	if err == nil {
		t.Errorf("%v: an address in brackets is no host", list)
	}
	if list, err = ParseHosts("st1, st2 ,,st1,fe80::1%eth0"); err != nil || fmt.Sprint(list) != "[{st1   false} {st2   false} {fe80::1%eth0   false}]" {
		t.Errorf("%v %v", list, err)
	}
}
