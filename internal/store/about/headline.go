package about

import (
	"slices"
	"strings"
)

// introductions are first lines that say nothing about the request itself, in the form that essence
// returns.
var introductions = []string{
	"implement the following", "implement the following plan", "implement the plan", "implement this plan", "implement this",
	"execute the following plan", "execute the plan", "execute this plan", "follow this plan", "carry out the following plan",
	"here is the plan", "here is a plan", "here's the plan", "plan", "the plan", "implementation plan",
	"do the following", "do this", "fix the following", "fix this", "see below", "the following",
	"task", "the task", "your task", "request", "user request", "prompt", "instructions", "description",
	"context", "background", "overview", "summary", "introduction", "goal", "goals", "objective", "problem", "the problem", "issue",
	// commands of spec-kit
	"user input", "you **must** consider the user input before proceeding (if not empty)", "outline", "$arguments",
	"the user input to you can be provided directly by the agent or as a command argument - you **must** consider it before proceeding with the prompt (if not empty)",
}

// polite are the words with which a request may begin.
var polite = []string{"please ", "can you ", "could you ", "now ", "let's ", "i want you to ", "you should "}

// headline returns the line of a text that says most about it: its first paragraph or heading, or, where
// the first line only introduces what follows, the first heading or line after that.
func headline(text string) string {
	const most = 16 << 10 // bytes: what introduces a request is short
	text = strings.ReplaceAll(strings.TrimSpace(text[:min(len(text), most)]), "\r\n", "\n")
	if matter, ok := strings.CutPrefix(text, "---\n"); ok && isField(matter) { // of a file that is the prompt
		if _, after, _ := strings.Cut(matter, "\n---\n"); nextLine(after, true) != "" {
			text = nextLine(after, true)
		}
	}
	followed := false
	for {
		line, rest, _ := strings.Cut(text, "\n")
		generic := slices.Contains(introductions, essence(line))
		next := nextLine(rest, generic)
		if bare := strings.TrimRight(line, " \t\r"); !generic && !strings.HasSuffix(bare, ":") && !strings.HasSuffix(bare, "：") {
			break
		}
		if next == "" { // nothing but code follows, or nothing at all
			text = line
			break
		}
		text, followed = next, true
	}
	line, _, _ := strings.Cut(text, "\n")
	if bare := unmarked(line); bare != "" && (followed || isHeading(line)) {
		return squeeze(bare)
	}
	return squeeze(text)
}

// nextLine returns the rest of a text, beginning with its first line that has words; "" if there is none.
// With inCode, lines in a code block count; without, the search ends where a code block begins.
func nextLine(text string, inCode bool) string {
	for text = strings.TrimSpace(text); text != ""; {
		line, rest, _ := strings.Cut(text, "\n")
		fence := strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
		if fence && !inCode {
			return ""
		}
		if !fence && strings.Trim(line, "-=*_# \t\r") != "" {
			return text
		}
		text = strings.TrimSpace(rest)
	}
	return ""
}

// isField reports whether the first line of a text is a field of front matter: between two rulers there may be other text.
func isField(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	name, _, ok := strings.Cut(line+" ", ": ")
	return ok && name != "" && !strings.ContainsAny(name, " \t")
}

// essence is a line in lower case, without marks of Markdown, polite beginnings and punctuation around it.
func essence(line string) string {
	line = strings.ToLower(strings.Trim(unmarked(line), " \t\r:：.!,…"))
	for again := true; again; {
		again = false
		for _, p := range polite {
			if rest, ok := strings.CutPrefix(line, p); ok {
				line, again = rest, true
			}
		}
	}
	return line
}

// isHeading reports whether a line is a heading of Markdown.
func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	return rest != line && strings.HasPrefix(rest, " ")
}

// unmarked returns a line without the marks of a heading, list, quotation or bold text around it.
func unmarked(line string) string {
	line = strings.TrimSpace(line)
	if isHeading(line) {
		line = strings.TrimSpace(strings.Trim(line, "#"))
	}
	for _, mark := range []string{"- ", "* ", "> ", "• "} {
		line = strings.TrimPrefix(line, mark)
	}
	if digits := strings.TrimLeft(line, "0123456789"); digits != line && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") ")) {
		line = digits[2:]
	}
	if bold, ok := strings.CutPrefix(line, "**"); ok && strings.HasSuffix(bold, "**") && len(bold) > 4 {
		line = strings.TrimSuffix(bold, "**")
	}
	return strings.TrimSpace(line)
}
