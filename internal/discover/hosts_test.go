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
		"csv with names of columns":           {ParseCSV, "\xef\xbb\xbfname, host ,rack\nst1,st1.example.net,7\n\n# no\ncn1,192.0.2.1\n", "st1.example.net=st1 192.0.2.1=cn1"},
		"csv with users":                      {ParseCSV, "host,user\nesx1,root\nst1,\n", "esx1= by root st1="},
		"csv without":                         {ParseCSV, "st1.example.net,st1\ncn1\n", "st1.example.net=st1 cn1="},
		"csv, twice":                          {ParseCSV, "host\nst1\nst1\n", "st1="},
		"csv without a host":                  {ParseCSV, "name,rack\nst1,7\n", "error: none of them is host"},
		"csv with an option":                  {ParseCSV, "host\n-oProxyCommand=x\n", `error: line 2: "-oProxyCommand=x" is no host`},
		"csv with an open quote":              {ParseCSV, "host\n\"st1\n", "error: cannot be read"},
		"csv, nothing":                        {ParseCSV, "", ""},
		"ansible in YAML":                     {ParseAnsible, "all:\n  hosts:\n    st10:\n    st2: {ansible_host: 192.0.2.2, x: [1]}\n  children:\n    compute:\n      hosts: {cn1: }\n", "cn1=cn1 192.0.2.2=st2 st10=st10"},
		"ansible in lines":                    {ParseAnsible, "# site\nlone\n[storage]\nst1 ansible_host='192.0.2.1' x=y # first\n[storage:vars]\na=b\n[all:children]\nstorage\n", "lone=lone 192.0.2.1=st1"},
		"ansible with users in YAML":          {ParseAnsible, "all:\n  vars: {ansible_user: weft}\n  hosts:\n    esx1:\n  children:\n    esx:\n      vars: {ansible_user: root}\n      hosts:\n        esx1:\n        esx2: {ansible_user: admin}\n    linux: {hosts: {st1: }}\n", "esx1=esx1 by root esx2=esx2 by admin st1=st1 by weft"},
		"ansible with users in lines":         {ParseAnsible, "lone\n[esx]\nesx1\nesx2 ansible_user=admin\n[esx:vars]\nansible_user = 'root'\n[hosts:children]\nwin\n[win]\nw1\n[hosts:vars]\nansible_user=Administrator\n[all:vars]\nansible_user=weft\n", "lone=lone by weft esx1=esx1 by root esx2=esx2 by admin w1=w1 by Administrator"},
		"ansible with a range":                {ParseAnsible, "[storage]\nst[1:9]\n", `error: line 2: "st[1:9]" is no host`},
		"ansible that is no mapping":          {ParseAnsible, "a: b: c\n", "error: cannot be read as YAML"},
		"ansible with a number":               {ParseAnsible, "all: {hosts: {7: }}\n", `error: "7" is no host`},
		"csv with a number":                   {ParseCSV, "host\nst1\n1\n", `error: line 3: "1" is no host`},
		"ansible, a host in two groups":       {ParseAnsible, "[compute]\nn1 ansible_host=192.0.2.11 ansible_user=ops\n[nfs]\nn1\n", "192.0.2.11=n1 by ops"},
		"ansible, the groups the other way":   {ParseAnsible, "[nfs]\nn1\n[compute]\nn1 ansible_user=ops ansible_host=192.0.2.11\n", "192.0.2.11=n1 by ops"},
		"ansible, two groups in YAML":         {ParseAnsible, "a: {hosts: {n1: {ansible_host: 192.0.2.11}}}\nb: {hosts: {n1: {ansible_user: ops}}, vars: {ansible_user: x}}\n", "192.0.2.11=n1 by ops"},
		"ansible, one host and two addresses": {ParseAnsible, "[a]\nn1 ansible_host=192.0.2.1\n[b]\nn1 ansible_host=192.0.2.2\n", "error: line 4: ansible_host is 192.0.2.2 and, elsewhere, 192.0.2.1"},
		"ansible, a user of two groups":       {ParseAnsible, "[b]\nn1\n[a]\nn1\n[a:vars]\nansible_user=x\n[b:vars]\nansible_user=y\n", "n1=n1 by y"},
		"ansible, the deeper group counts":    {ParseAnsible, "[z]\nn1\n[a]\nn1\n[y:children]\na\n[z:vars]\nansible_user=z\n[a:vars]\nansible_user=a\n", "n1=n1 by a"},
		"ansible, a priority of a group":      {ParseAnsible, "[b]\nn1\n[b:vars]\nansible_group_priority=10\n", "error: line 4: ansible_group_priority is 10"},
		"ansible, a template for a user":      {ParseAnsible, "all: {hosts: {n1: {ansible_user: \"{{ lookup('env', 'USER') }}\"}}}\n", "error: group all, host n1: ansible_user is a template"},
		"ansible, a template in lines":        {ParseAnsible, "n1 ansible_user=\"{{ who }}\"\n", "error: line 1: ansible_user is a template: {{ who }}"},
		"ansible, a template of a group":      {ParseAnsible, "n1\n[all:vars]\nansible_host = {{ ip }}\n", "error: line 3: ansible_host is a template"},
		"ansible, the old words":              {ParseAnsible, "[st]\nst1 ansible_ssh_host=192.0.2.7 ansible_ssh_user=ops ansible_ssh_port=22\n", "192.0.2.7=st1 by ops"},
		"ansible, both words":                 {ParseAnsible, "st1 ansible_host=192.0.2.7 ansible_ssh_host=192.0.2.8\n", "error: line 1: ansible_ssh_host is 192.0.2.8 and, elsewhere, 192.0.2.7"},
		"ansible, hosts as a text":            {ParseAnsible, "all:\n  hosts: test5\n", "test5=test5"},
		"ansible, hosts as a list":            {ParseAnsible, "web: {hosts: [b, a]}\n", "a=a b=b"},
		"ansible, hosts as a number":          {ParseAnsible, "web: {hosts: 1.5}\n", "error: group web, hosts: it is 1.5"},
		"ansible-inventory --list":            {ParseAnsible, `{"_meta": {"hostvars": {"n1": {"ansible_host": "192.0.2.1", "ansible_port": 22}, "n2": {"ansible_user": "ops"}}}, "all": {"children": ["ungrouped", "web"]}, "web": {"hosts": ["n1", "n2"]}}`, "192.0.2.1=n1 n2=n2 by ops"},
		"ansible-inventory --list in lines":   {ParseAnsible, "{\n  \"_meta\": {\"hostvars\": {}},\n  \"web\": [\"n1\"]\n}\n", "n1=n1"},
		"ansible, a template in hostvars":     {ParseAnsible, `{"_meta": {"hostvars": {"n1": {"ansible_host": "{{ x }}"}}}, "web": {"hosts": ["n1"]}}`, "error: _meta, host n1: ansible_host is a template"},
		"ansible, a port":                     {ParseAnsible, "st1 ansible_port=2222\nst2 ansible_port=22\n", "error: line 1: ansible_port is 2222: weft takes the port of a host from ~/.ssh/config"},
		"ansible, a port of a group":          {ParseAnsible, "web: {hosts: {n1: }, vars: {ansible_port: 2222}}\n", "error: group web, host n1: ansible_port is 2222"},
		"ansible, a host with a port":         {ParseAnsible, "st1:2222\n", `error: line 1: "st1:2222" is a host with a port`},
		"ansible, IPv6 with a port":           {ParseAnsible, "[st]\n[2001:db8::11]:22\n", `error: line 2: "[2001:db8::11]:22" is neither a group nor a host`},
		"ansible, IPv6 with a port in YAML":   {ParseAnsible, "st: {hosts: {\"[2001:db8::11]:22\": }}\n", `error: group st, host [2001:db8::11]:22: "[2001:db8::11]:22" is a host with a port`},
		"ansible, IPv6 alone":                 {ParseAnsible, "n1 ansible_host=2001:db8::11\n", "2001:db8::11=n1"},
		"ansible, a section that is none":     {ParseAnsible, "[st:hosts]\nn1\n", "error: line 1: [st:hosts] is no section"},
		"ansible, a group within itself":      {ParseAnsible, "n1\n[a:children]\nb\n[b:children]\na\n", "error: nested more than 20 deep"},
		"ansible, a value that is a list":     {ParseAnsible, "all: {hosts: {n1: {ansible_host: [a]}}}\n", "error: group all, host n1: ansible_host is [a], which is no text"},
		"ansible, a plugin":                   {ParseAnsible, "plugin: amazon.aws.aws_ec2\n", "error: group plugin: it is a text"},
		"ansible, a value with a blank":       {ParseAnsible, "n1 note='a b ansible_host=x' ansible_host=192.0.2.1 # ansible_user=x\n", "192.0.2.1=n1"},
		"ansible, all that is wrong":          {ParseAnsible, "a ansible_port=1\nb ansible_port=2\n", "error: line 2: ansible_port is 2"},
		"ansible, nothing":                    {ParseAnsible, "", ""},
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
