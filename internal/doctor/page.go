package doctor

import (
	"html/template"
	"io"
	"maps"
	"slices"
)

// Title is what the page is called.
func (s *Sheet) Title() string { return "weft doctor: " + s.Owner }

// Title is what the page is called.
func (a *Assessment) Title() string { return "weft doctor --assess: " + a.Owner }

// render writes a page that needs nothing else.
func render(w io.Writer, body string, what any) error {
	t, err := template.New("page").Parse(head + body)
	if err != nil {
		return err
	}
	return t.Execute(w, what)
}

const head = `{{define "head"}}<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"/>
<meta name="color-scheme" content="light dark"/>
<link rel="icon" href="data:,"/>
<title>{{.Title}}</title>
<style>
:root { --paper: #fdfdfb; --ink: #1c2024; --faint: #626b73; --rule: #d9dcd6; --fail: #a8201a; --open: #8a5a00; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e6e8ea; --faint: #9aa4ad; --rule: #333a40; --fail: #ff8f86; --open: #e8b65a; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 78rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.8rem 0 .4rem; border-bottom: 1px solid var(--rule); }
.faint { color: var(--faint); } .critical, .error, .needs { color: var(--fail); } .warn, .info, .unknown { color: var(--open); }
.simulated { border: 2px dashed var(--open); padding: .5rem .8rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } td { padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; overflow-wrap: anywhere; }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{if .Simulated}}<p class="simulated">SIMULATED: read from weft's lab.</p>{{end}}
{{end}}`

// HTML writes the report as one page that needs nothing else.
func (s *Sheet) HTML(w io.Writer) error {
	return render(w, sheetPage, struct {
		*Sheet
		Groups, Open []group
		FineIDs      []string
	}{s, groups(s.Findings), groups(s.Unknown), slices.Sorted(maps.Keys(s.Fine))})
}

const sheetPage = `{{template "head" .}}<p class="faint">{{.Summary}}.</p>
{{range .Lost}}<p class="critical">not read: {{.}}</p>
{{end}}{{range .Groups}}<h2><span class="{{.Check.Severity}}">{{.Check.Severity}}</span> {{.Check.ID}} {{.Check.Title}}</h2>
<table>{{range .Said}}<tr><td>{{.Place}}</td><td>{{.Place.At}}</td><td>{{.Text}}</td></tr>
{{end}}</table>
<p class="faint">Read: {{.Check.Reads}}. Limit: {{.Check.Limit}} ({{.Check.Source}}).</p>
<p>{{.Check.Remedy}}</p>
{{end}}{{with .Open}}<h2>Unknown, which is not a pass</h2>
<table>{{range .}}{{range .Said}}<tr><td>{{.Check.ID}}</td><td>{{.Place}}</td><td>{{.Text}}</td></tr>
{{end}}{{end}}</table>
{{end}}{{with .Ignored}}<h2>Ignored</h2>
<table>{{range .}}<tr><td>{{.Check.ID}}</td><td>{{.Place}}</td><td>{{.Text}}</td><td>{{.Reason}}</td></tr>
{{end}}</table>
{{end}}<p class="faint">Fine: {{range .FineIDs}}{{.}} {{end}}</p>
</body>
</html>
`

// Does names the kinds of RDMA that a device can do.
func (x Subject) Does() string { return known(x.Flavours, x.Unsure) }

// HTML writes the assessment as one page that needs nothing else.
func (a *Assessment) HTML(w io.Writer) error {
	return render(w, assessmentPage, struct {
		*Assessment
		Conclusion []string
	}{a, a.conclusion()})
}

const assessmentPage = `{{template "head" .}}<ul>{{range .Conclusion}}<li>{{.}}</li>
{{end}}</ul>
{{range .Subjects}}<h2><span class="{{.State}}">{{.State}}</span> {{.Kind}} {{.Device}}</h2>
<p class="faint">{{with .At}}{{.}}. {{end}}{{with .Does}}RDMA that it can do: {{.}}.{{end}}</p>
<table>{{range .Answers}}<tr><td class="{{.State}}">{{.State}}</td><td>{{.What}}</td><td>{{.Part}}</td><td>{{.Text}}</td><td class="faint">{{.Source}}</td></tr>
{{end}}</table>
{{end}}</body>
</html>
`
