package language

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// terraformCases are the examples of Terraform's documentation of its functions, and the cases
// in which implementations differ: null, empty texts, nothing at all, other types. Each result
// is the JSON of what Terraform gives; one that begins with "error: " is why it refuses.
var terraformCases = map[string][][2]string{
	"abs":                    {{`abs(23)`, `23`}, {`abs(0)`, `0`}, {`abs(-12.4)`, `12.4`}},
	"alltrue":                {{`alltrue(["true", true])`, `true`}, {`alltrue([true, false])`, `false`}, {`alltrue([])`, `true`}, {`alltrue([null])`, `false`}},
	"anytrue":                {{`anytrue(["true"])`, `true`}, {`anytrue([true, false])`, `true`}, {`anytrue([])`, `false`}, {`anytrue([null])`, `false`}},
	"can":                    {{`can(tonumber("x"))`, `false`}, {`can(1)`, `true`}},
	"ceil":                   {{`ceil(5)`, `5`}, {`ceil(5.1)`, `6`}, {`ceil(-5.1)`, `-5`}},
	"chomp":                  {{`chomp("hello\n")`, `"hello"`}, {`chomp("hello\r\n")`, `"hello"`}, {`chomp("hello\n\n")`, `"hello"`}},
	"chunklist":              {{`chunklist(["a", "b", "c", "d", "e"], 2)`, `[["a","b"],["c","d"],["e"]]`}, {`chunklist(["a", "b"], 0)`, `[["a","b"]]`}},
	"cidrhost":               {{`cidrhost("10.12.112.0/20", 16)`, `"10.12.112.16"`}, {`cidrhost("10.12.112.0/20", 268)`, `"10.12.113.12"`}, {`cidrhost("fd00:fd12:3456:7890:00a2::/72", 34)`, `"fd00:fd12:3456:7890::22"`}, {`cidrhost("10.12.112.0/20", -2)`, `"10.12.127.254"`}},
	"cidrsubnet":             {{`cidrsubnet("172.16.0.0/12", 4, 2)`, `"172.18.0.0/16"`}, {`cidrsubnet("10.1.2.0/24", 4, 15)`, `"10.1.2.240/28"`}, {`cidrsubnet("fd00:fd12:3456:7890::/56", 16, 162)`, `"fd00:fd12:3456:7800:a200::/72"`}},
	"coalesce":               {{`coalesce("a", "b")`, `"a"`}, {`coalesce("", "b")`, `"b"`}, {`coalesce(1, 2)`, `1`}, {`coalesce(null, "", "a")`, `"a"`}, {`coalesce(0, 1)`, `0`}, {`coalesce(false, true)`, `false`}, {`coalesce(["", "b"]...)`, `"b"`}, {`coalesce("")`, `error: every argument is null or an empty text`}, {`coalesce(null, null)`, `error: every argument is null`}},
	"coalescelist":           {{`coalescelist(["a", "b"], ["c", "d"])`, `["a","b"]`}, {`coalescelist([], ["c", "d"])`, `["c","d"]`}},
	"compact":                {{`compact(["a", "", "b", null, "c"])`, `["a","b","c"]`}},
	"concat":                 {{`concat(["a", ""], ["b", "c"])`, `["a","","b","c"]`}},
	"contains":               {{`contains(["a", "b", "c"], "a")`, `true`}, {`contains(["a", "b", "c"], "d")`, `false`}, {`contains([1, 2], 2)`, `true`}},
	"csvdecode":              {{`csvdecode("a,b,c\n1,2,3\n4,5,6")`, `[{"a":"1","b":"2","c":"3"},{"a":"4","b":"5","c":"6"}]`}},
	"distinct":               {{`distinct(["a", "b", "a", "c", "d", "b"])`, `["a","b","c","d"]`}},
	"element":                {{`element(["a", "b", "c"], 1)`, `"b"`}, {`element(["a", "b", "c"], 3)`, `"a"`}, {`element(["a", "b", "c"], -1)`, `"c"`}, {`element([], 0)`, `error: empty list`}},
	"endswith":               {{`endswith("hello world", "world")`, `true`}, {`endswith("hello world", "hello")`, `false`}},
	"flatten":                {{`flatten([["a", "b"], [], ["c"]])`, `["a","b","c"]`}, {`flatten([[["a", "b"], []], ["c"]])`, `["a","b","c"]`}},
	"floor":                  {{`floor(5)`, `5`}, {`floor(4.9)`, `4`}, {`floor(-4.9)`, `-5`}},
	"format":                 {{`format("Hello, %s!", "Ander")`, `"Hello, Ander!"`}, {`format("There are %d lights", 4)`, `"There are 4 lights"`}, {`format("%03d %x %v %#v %%", 7, 255, true, "a")`, `"007 ff true \"a\" %"`}, {`format("%s", null)`, `error: unsupported value`}},
	"formatdate":             {{`formatdate("DD MMM YYYY hh:mm ZZZ", "2018-01-02T23:12:01Z")`, `"02 Jan 2018 23:12 UTC"`}, {`formatdate("EEEE, DD-MMM-YY hh:mm:ss ZZZ", "2018-01-02T23:12:01-08:00")`, `"Tuesday, 02-Jan-18 23:12:01 -0800"`}, {`formatdate("h'h'mm AA", "2018-01-02T03:12:01Z")`, `"3h12 AM"`}},
	"formatlist":             {{`formatlist("Hello, %s!", ["Valentina", "Ander"])`, `["Hello, Valentina!","Hello, Ander!"]`}, {`formatlist("%s, %s!", "Salutations", ["Valentina", "Ander"])`, `["Salutations, Valentina!","Salutations, Ander!"]`}},
	"indent":                 {{`indent(2, "[\n  foo,\n]\n")`, `"[\n    foo,\n  ]\n  "`}},
	"index":                  {{`index(["a", "b", "c"], "b")`, `1`}, {`index([true, false], false)`, `1`}, {`index(["a"], "x")`, `error: the list has no such item`}, {`index([10, 2, 30], 2)`, `error: two meanings`}, {`index(tolist(["a", "b"]), "b")`, `1`}},
	"join":                   {{`join("-", ["foo", "bar", "baz"])`, `"foo-bar-baz"`}, {`join(", ", ["foo"])`, `"foo"`}, {`join(", ", [])`, `""`}},
	"jsondecode":             {{`jsondecode("{\"hello\": \"world\"}")`, `{"hello":"world"}`}, {`jsondecode("true")`, `true`}},
	"jsonencode":             {{`jsondecode(jsonencode({ hello = "world" }))`, `{"hello":"world"}`}, {`jsonencode("<&>")`, `"\"\\u003c\\u0026\\u003e\""`}},
	"keys":                   {{`keys({ a = 1, c = 2, d = 3 })`, `["a","c","d"]`}, {`keys({ b = 1, a = 2 })`, `["a","b"]`}},
	"length":                 {{`length([])`, `0`}, {`length(["a", "b"])`, `2`}, {`length({ a = "b" })`, `1`}, {`length("hello")`, `5`}, {`length("👾🕹️")`, `2`}},
	"log":                    {{`log(50, 10) > 1.698 && log(50, 10) < 1.699`, `true`}, {`log(16, 2)`, `4`}},
	"lookup":                 {{`lookup({ a = "ay", b = "bee" }, "a", "what?")`, `"ay"`}, {`lookup({ a = "ay", b = "bee" }, "c", "what?")`, `"what?"`}, {`lookup({ a = 1 }, "b", null)`, `null`}, {`lookup(tomap({ a = 1 }), "b", null)`, `null`}, {`lookup({ a = null }, "a", 1)`, `null`}, {`lookup({ a = 1 }, "a")`, `1`}, {`lookup({ a = 1 }, "b")`, `error: has no attribute "b"`}, {`lookup(tomap({ a = 1 }), "b")`, `error: has no key "b"`}, {`lookup({ a = 1 }, "b", 2, 3)`, `error: one default`}},
	"lower":                  {{`lower("HELLO")`, `"hello"`}, {`lower("АЛЛО!")`, `"алло!"`}},
	"max":                    {{`max(12, 54, 3)`, `54`}, {`max([12, 54, 3]...)`, `54`}},
	"merge":                  {{`merge({ a = "b", c = "d" }, { e = "f", c = "z" })`, `{"a":"b","c":"z","e":"f"}`}, {`merge({ a = "b" }, { a = [1, 2], c = "z" }, { d = 3 })`, `{"a":[1,2],"c":"z","d":3}`}, {`merge(null, { a = 1 })`, `{"a":1}`}},
	"min":                    {{`min(12, 54, 3)`, `3`}},
	"one":                    {{`one([])`, `null`}, {`one(["hello"])`, `"hello"`}, {`one(["hello", "goodbye"])`, `error: at most one item`}, {`one(toset(["a"]))`, `"a"`}},
	"parseint":               {{`parseint("100", 10)`, `100`}, {`parseint("FF", 16)`, `255`}, {`parseint("-10", 16)`, `-16`}, {`parseint("1011111011101111", 2)`, `48879`}, {`parseint("aA", 62)`, `656`}, {`parseint("12", 2)`, `error: cannot parse`}},
	"pow":                    {{`pow(3, 2)`, `9`}, {`pow(4, 0)`, `1`}},
	"range":                  {{`range(3)`, `[0,1,2]`}, {`range(1, 4)`, `[1,2,3]`}, {`range(1, 8, 2)`, `[1,3,5,7]`}, {`range(1, 4, 0.5)`, `[1,1.5,2,2.5,3,3.5]`}, {`range(4, 1)`, `[4,3,2]`}, {`range(10, 5, -2)`, `[10,8,6]`}},
	"regex":                  {{`regex("[a-z]+", "53453453.345345aaabbbccc23454")`, `"aaabbbccc"`}, {`regex("(\\d\\d\\d\\d)-(\\d\\d)-(\\d\\d)", "2019-02-01")`, `["2019","02","01"]`}, {`regex("^(?:(?P<scheme>[^:/?#]+):)?(?://(?P<authority>[^/?#]*))?", "https://terraform.io/docs/")`, `{"authority":"terraform.io","scheme":"https"}`}, {`regex("[a-z]+", "53453453.34534523454")`, `error: did not match`}},
	"regexall":               {{`regexall("[a-z]+", "1234abcd5678efgh9")`, `["abcd","efgh"]`}, {`length(regexall("[a-z]+", "123456789"))`, `0`}},
	"replace":                {{`replace("1 + 2 + 3", "+", "-")`, `"1 - 2 - 3"`}, {`replace("hello world", "/w.*d/", "everybody")`, `"hello everybody"`}, {`replace("a/b", "/", "-")`, `"a-b"`}, {`replace("ab", "/(a)(b)/", "$2$1")`, `"ba"`}},
	"reverse":                {{`reverse([1, 2, 3])`, `[3,2,1]`}},
	"setintersection":        {{`setintersection(["a", "b"], ["b", "c"], ["b", "d"])`, `["b"]`}},
	"setproduct":             {{`setproduct(["development", "staging"], ["app1", "app2"])`, `[["development","app1"],["development","app2"],["staging","app1"],["staging","app2"]]`}, {`setproduct([], ["a"])`, `[]`}},
	"setsubtract":            {{`setsubtract(["a", "b", "c"], ["a", "c"])`, `["b"]`}},
	"setsymmetricdifference": {{`setsymmetricdifference(["a", "b"], ["b", "c"])`, `["a","c"]`}},
	"setunion":               {{`setunion(["a", "b"], ["b", "c"], ["d"])`, `["a","b","c","d"]`}},
	"sha256":                 {{`sha256("hello world")`, `"b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"`}},
	"signum":                 {{`signum(-13)`, `-1`}, {`signum(0)`, `0`}, {`signum(344)`, `1`}},
	"slice":                  {{`slice(["a", "b", "c", "d"], 1, 3)`, `["b","c"]`}},
	"sort":                   {{`sort(["e", "d", "a", "x"])`, `["a","d","e","x"]`}, {`sort([10, 9])`, `["10","9"]`}},
	"split":                  {{`split(",", "foo,bar,baz")`, `["foo","bar","baz"]`}, {`split(",", "foo")`, `["foo"]`}, {`split(",", "")`, `[""]`}},
	"startswith":             {{`startswith("hello world", "hello")`, `true`}, {`startswith("hello world", "world")`, `false`}},
	"strrev":                 {{`strrev("hello")`, `"olleh"`}, {`strrev("a ☃")`, `"☃ a"`}},
	"substr":                 {{`substr("hello world", 1, 4)`, `"ello"`}, {`substr("🤔🤷", 0, 1)`, `"🤔"`}, {`substr("hello world", -5, -1)`, `"world"`}, {`substr("hello world", 6, 10)`, `"world"`}},
	"sum":                    {{`sum([10, 13, 6, 4.5])`, `33.5`}, {`sum(["1", 2])`, `3`}, {`sum(toset([1, 1, 2]))`, `3`}},
	"timeadd":                {{`timeadd("2017-11-22T00:00:00Z", "10m")`, `"2017-11-22T00:10:00Z"`}},
	"title":                  {{`title("hello world")`, `"Hello World"`}},
	"tobool":                 {{`tobool(true)`, `true`}, {`tobool("true")`, `true`}, {`tobool(null)`, `null`}, {`tobool("no")`, `error: cannot convert`}, {`tobool(1)`, `error: cannot convert`}},
	"tolist":                 {{`tolist(["a", "b", 3])`, `["a","b","3"]`}},
	"tomap":                  {{`tomap({ a = 1, b = 2 })`, `{"a":1,"b":2}`}, {`tomap({ a = "foo", b = true })`, `{"a":"foo","b":"true"}`}},
	"tonumber":               {{`tonumber(1)`, `1`}, {`tonumber("1")`, `1`}, {`tonumber(null)`, `null`}, {`tonumber("no")`, `error: cannot convert`}},
	"toset":                  {{`toset(["a", "b", "c"])`, `["a","b","c"]`}, {`toset(["a", "b", 3])`, `["3","a","b"]`}, {`toset(["c", "b", "b"])`, `["b","c"]`}},
	"tostring":               {{`tostring("hello")`, `"hello"`}, {`tostring(1)`, `"1"`}, {`tostring(true)`, `"true"`}, {`tostring(null)`, `null`}, {`tostring([])`, `error: cannot convert`}},
	"trim":                   {{`trim("?!hello?!", "!?")`, `"hello"`}, {`trim("foobar", "far")`, `"oob"`}},
	"trimprefix":             {{`trimprefix("helloworld", "hello")`, `"world"`}, {`trimprefix("helloworld", "cat")`, `"helloworld"`}},
	"trimspace":              {{`trimspace("  hello\n\n")`, `"hello"`}},
	"trimsuffix":             {{`trimsuffix("helloworld", "world")`, `"hello"`}},
	"try":                    {{`try(tonumber("x"), 7)`, `7`}},
	"upper":                  {{`upper("hello")`, `"HELLO"`}},
	"uuidv5":                 {{`uuidv5("dns", "www.terraform.io")`, `"a5008fae-b28c-5ba5-96cd-82b4c53552d6"`}, {`uuidv5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.terraform.io")`, `"a5008fae-b28c-5ba5-96cd-82b4c53552d6"`}, {`uuidv5("x500", "CN=Example,C=GB")`, `"84e09961-4aa4-57f8-95b7-03edb1073253"`}},
	"values":                 {{`values({ a = 3, c = 2, d = 1 })`, `[3,2,1]`}},
	"yamldecode":             {{`yamldecode("hello: world")`, `{"hello":"world"}`}, {`yamldecode("true")`, `true`}, {`yamldecode("{a: 1, b: 2}")`, `{"a":1,"b":2}`}, {`yamldecode("{a: &foo [1, 2, 3], b: *foo}")`, `{"a":[1,2,3],"b":[1,2,3]}`}},
	"zipmap":                 {{`zipmap(["a", "b"], [1, 2])`, `{"a":1,"b":2}`}},
}

// Every function that has a name of Terraform's does what that does.
func TestTerraform(t *testing.T) {
	own := []string{"env", "exec", "file", "int", "port_range", "templatefile"} // no values to compare
	have := functions(newEvaluator(fstest.MapFS{}, fstest.MapFS{}, nil, nil).newOutside(fstest.MapFS{}, nil))
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if len(terraformCases[name]) == 0 && !slices.Contains(own, name) {
			t.Errorf("%s is compared with nothing", name)
		}
	}
	for name, list := range terraformCases {
		if _, ok := have[name]; !ok {
			t.Errorf("there is no function %s", name)
		}
		for _, c := range list {
			if said, fails := strings.CutPrefix(c[1], "error: "); fails {
				if got := refused(t, c[0]); !strings.Contains(got, said) {
					t.Errorf("%s is refused with %q, want %q", c[0], got, said)
				}
				continue
			}
			if got := textOf(t, "jsonencode("+c[0]+")", nil); got != c[1] {
				t.Errorf("%s is %s, want %s", c[0], got, c[1])
			}
		}
	}
}

// refused is why an expression is.
func refused(t *testing.T, expr string) string {
	t.Helper()
	dir := fstest.MapFS{"main.weft.hcl": {Data: []byte(edited(t, `{ content = "managed" }`, "{\ncontent = jsonencode("+expr+")\n}"))}}
	m, diags := Load(dir, Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if !diags.HasErrors() {
		t.Errorf("%s is not refused", expr)
	}
	return diagText(m, diags)
}

// Names of Terraform that weft has not are told with what to write.
func TestTerraformNames(t *testing.T) {
	for expr, want := range map[string]string{
		`"${path.module}/servers.yaml"`: `write "servers.yaml"`,
		`path.root`:                     "path.root and path.cwd",
		`terraform.workspace`:           "--var-file",
		`data.http.x.body`:              "yamldecode",
		`self.host`:                     "by its address",
	} {
		if got := refused(t, expr); !strings.Contains(got, want) || strings.Contains(got, "Did you mean") {
			t.Errorf("%s: %s", expr, got)
		}
	}
}
