package prices

import (
	_ "embed"
	"strconv"
	"strings"
)

// table has the prices of the usual models, a model a line: its name as Normal returns it, then what a million tokens of
// input, output, cache reads and cache writes cost, and of cache writes for an hour; - is not known. Lines that begin with
// # say where the prices are from, and of which day. make prices writes it.
//
//go:embed table.txt
var table string

// Of returns the price of a model by the table. The name has to be that of the model, but for what other programs write
// before and after it: providers, dates and versions.
func Of(model string) (Price, bool) {
	name := Normal(model)
	if name == "" || strings.ContainsAny(name, " \n#") {
		return Price{}, false
	}
	at := strings.Index(table, "\n"+name+" ")
	if at < 0 {
		return Price{}, false
	}
	line, _, _ := strings.Cut(table[at+1:], "\n")
	var cells [5]*float64
	for i, text := range strings.Fields(line)[1:] {
		if n, err := strconv.ParseFloat(text, 64); err == nil && i < len(cells) {
			cells[i] = &n
		}
	}
	if cells[0] == nil || cells[1] == nil {
		return Price{}, false
	}
	return Price{*cells[0], *cells[1], cells[2], cells[3], cells[4]}, true
}

// Source says where the table's prices are from.
func Source() string {
	var out []string
	for line := range strings.Lines(table) {
		text, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		out = append(out, strings.TrimSpace(text))
	}
	return strings.Join(out, "; ")
}

// Normal returns the name of a model without what does not change its price: the provider before it, as in
// "anthropic/claude-opus-4.6" and "us.anthropic.claude-opus-4-6-v1:0", and the date or version after it. Providers write
// versions with dots or dashes.
func Normal(model string) string {
	name := strings.ToLower(strings.TrimSpace(model))
	name = name[strings.LastIndexByte(name, '/')+1:]
	name, _, _ = strings.Cut(name, "[") // claude-opus-4-6[1m]
	name, _, _ = strings.Cut(name, ":")
	name, _, _ = strings.Cut(name, "@") // Vertex: claude-opus-4-5@20251101
	for _, provider := range [...]string{"anthropic.", "openai.", "google.", "deepseek.", "moonshotai.", "qwen."} {
		if i := strings.Index(name, provider); i >= 0 {
			name = name[i+len(provider):]
		}
	}
	name = strings.ReplaceAll(name, ".", "-")
	for {
		short := strings.TrimSuffix(strings.TrimSuffix(name, "-latest"), "-v1")
		short = withoutDate(short)
		if short == name {
			return name
		}
		name = short
	}
}

// withoutDate removes a date from the end of a name: -20251101, -2025-11-01.
func withoutDate(name string) string {
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if i := len(name) - len("-20251101"); i > 0 && name[i:i+3] == "-20" && digits(name[i+1:]) {
		return name[:i]
	}
	if i := len(name) - len("-2025-11-01"); i > 0 && name[i:i+3] == "-20" && name[i+5] == '-' && name[i+8] == '-' && digits(strings.ReplaceAll(name[i+1:], "-", "")) {
		return name[:i]
	}
	return name
}
