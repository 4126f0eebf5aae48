package setting

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/store/layout"
)

// Rule is a rule of one of the settings allow, deny and ask: which calls of tools it is about.
type Rule struct {
	Tool    string // a name, or a pattern as of package path: github.*
	Pattern string // which calls of the tool; "" means all
	Project string // the only project in which the rule counts; "" means all projects
}

// String returns the rule as it is written in a setting.
func (r Rule) String() string {
	text := r.Tool
	if r.Pattern != "" {
		text += "(" + r.Pattern + ")"
	}
	if r.Project != "" {
		text = In(text, r.Project)
	}
	return text
}

// LongestRule is how many bytes a rule may have.
const LongestRule = 1000

// ruleHint shows the forms of rules.
const ruleHint = `for example: ["bash(git status)", "fs.write(docs/**)", "web.fetch(*.example.org)", "github.*"]`

// inProject separates a rule from its project.
const inProject = " in "

// ParseRule reads TOOL or TOOL(PATTERN), and an optional " in PROJECT" after it. Errors: [layout.ErrInvalid].
func ParseRule(text string) (r Rule, err error) {
	bad := func(why string) (Rule, error) {
		return Rule{}, layout.Invalid(ruleHint, "%q is not a rule: %s", text, why)
	}
	if len(text) > LongestRule {
		return bad("it is too long")
	}
	rest, end := text, ""
	if before, _, _ := strings.Cut(text, inProject); strings.Contains(before, "(") {
		end = ")"
	}
	if before, project, found := strings.Cut(text, end+inProject); found { // the project's path may contain " in " too
		if rest, r.Project = before+end, project; !filepath.IsAbs(project) {
			return bad("after \"in\" comes the whole path of a project")
		}
	}
	var open bool
	if r.Tool, r.Pattern, open = strings.Cut(rest, "("); open {
		if r.Pattern, open = strings.CutSuffix(r.Pattern, ")"); !open || r.Pattern == "" {
			return bad("write TOOL or TOOL(PATTERN)")
		}
	}
	if _, err := path.Match(r.Tool, ""); err != nil || r.Tool == "" || strings.ContainsAny(r.Tool, " \t\r\n)") {
		return bad("it names no tool")
	}
	if r.Pattern == "*" {
		r.Pattern = ""
	}
	if r.Tool == "bash" && strings.ContainsAny(r.Pattern, ";|&`$<>(){}\r\n'\"\\*?[]#~!") {
		return bad("a pattern for bash is the first words of a command, as they are")
	}
	if _, err := path.Match(r.Pattern, ""); err != nil {
		return bad("its pattern cannot be read")
	}
	return r, nil
}

// Rules parses and checks a JSON list of rules; "" is an empty list. Errors: [layout.ErrInvalid].
func Rules(text string) (list []string, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, layout.Invalid(ruleHint, "the rules are not a JSON list of texts")
	}
	for _, rule := range list {
		if _, err := ParseRule(rule); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// AddRules adds the rules that are missing to a JSON list of rules.
func AddRules(text string, more []string) (string, error) {
	list, err := Rules(text)
	if err != nil {
		return "", err
	}
	for _, rule := range more {
		if !slices.Contains(list, rule) {
			list = append(list, rule)
		}
	}
	raw, err := json.Marshal(list)
	return string(raw), err
}

// In returns a rule, given without a project, limited to one project.
func In(rule, project string) string { return rule + inProject + project }
