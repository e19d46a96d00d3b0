package switches

import (
	_ "embed"
	"slices"
	"strings"

	"weft/internal/pattern"
)

//go:embed keywords.txt
var keywordText string

// Keywords are the words of the command languages of switches and of what these print.
type keywords map[string]bool

func readKeywords() keywords {
	v := keywords{}
	for line := range strings.Lines(keywordText) {
		if !strings.HasPrefix(line, "#") {
			for _, w := range strings.Fields(line) {
				v[w] = true
			}
		}
	}
	return v
}

// has reports whether a word belongs to the language, as it is written or with a capital first
// letter.
func (v keywords) has(word string) bool {
	return v[word] || word != "" && word[0] >= 'A' && word[0] <= 'Z' && v[string(word[0]+'a'-'A')+word[1:]]
}

// Values that name nobody, whatever they are, by their form.
var harmlessForms = []pattern.Pattern{
	pattern.New(`^[+-]?\d{1,9}(?:\.\d{1,6})?%?$`), // numbers
	pattern.New(`(?i)^\d{1,9}(?:\.\d{1,6})?(?:[kmgt]?(?:b|bps|bits?|bytes?|pps|hz)?|ms|us|ns|[shdwyvwcx]|mw|dbm|nm|km)$`), // with a unit
	pattern.New(`^(?:\d{1,9}[-,/:.])+\d{1,9}$`), // lists, ranges, times and dates
	pattern.New(`^(?:\d{1,3}[dhwymsu]){1,5}$`),  // spans of time
	pattern.New(`^0x[0-9a-fA-F]{1,4}$`),
	// Versions: 10.3(4a), 7.0(3)I4(3), 7.1.070, R2612P06, V700R001B70D045SP05.
	pattern.New(`^[vV]?\d{1,3}(?:\.\d{1,4})*(?:\(\w{1,4}\)[A-Z]?\d{0,3})*\.?[A-Z]?$`),
	pattern.New(`^(?:[RFEDBT]?\d{3,5}(?:[A-Z]\d{0,3}){0,2}|V\d{3}R\d{3}(?:[A-Z]{1,2}\d{1,4}){0,4})$`),
	pattern.New(`(?i)^(?:af|cs|cos|dscp|queue|q)\d{1,2}$`), // classes
	// Ports, by the names of their kinds.
	pattern.New(`(?i)^(?:(?:ten-|twenty-five|forty|fifty|hundred|twohundred|fourhundred|m-)?gig(?:abit)?e(?:thernet)?|ethernet|eth|fa?stethernet|m?ge|xge|wge|fge|hge|m-ge|flexgige|mgmt|loopback|inloopback|null|lo|po|vlan|vl|nve|tunnel|register-tunnel|` +
		`port-channel|eth-channel|bridge-aggregation|route-aggregation|bagg|ragg|vlan-interface|vsi-interface|vsi|fc|vfc|aux|con|console|vty|module|slot|chassis|cellular|irf-port)-?\d{1,5}(?:[/:.]\d{1,5})*(?:-\d{1,5})?$`),
	pattern.New(`^(?:(?:eth|eno|ens|enp|bond|ib|ibp|ibs|mlx5_|mlx4_|vmnic|vmk|swp|rocep|Eth|Vl|Po)\d{1,4}(?:(?:s|f|d|np|n|v|p|\.)\d{1,4}){0,4})$`),
}

// tellsNothing reports whether a value has a harmless form, of any switch or of these.
func tellsNothing(value string, forms []pattern.Pattern) bool {
	if strings.Trim(value, `-_./+:=*~@&|\`) == "" {
		return true
	}
	for _, form := range slices.Concat(harmlessForms, forms) {
		if form.MatchString(value) {
			return true
		}
	}
	return false
}
