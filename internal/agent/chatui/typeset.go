package chatui

import (
	"html"
	"regexp"
	"strings"
	"sync"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	xansi "github.com/charmbracelet/x/ansi"

	"tape/internal/show/display"
)

// Limits in bytes. A text over maxMarkdown is shown as it is: parsing it would take too long. A block that
// is still being written is rendered many times, so of this only the last maxLive bytes are rendered.
const (
	maxMarkdown = 64 << 10
	maxLive     = 4 << 10
)

// joiner joins the parts of an emoji. Messages keep it: it cannot hide text.
const joiner = "\u200d"

// renderer renders Markdown for a width and with or without colours.
type renderer struct {
	width int
	color bool
	// md is made with the first text; nil: it could not be made, and texts are shown as they are.
	md func() *glamour.TermRenderer
}

// newRenderer returns a renderer for lines of at most width cells.
func newRenderer(width int, color bool) *renderer {
	r := &renderer{width: max(width, 1), color: color}
	r.md = sync.OnceValue(func() *glamour.TermRenderer {
		md, err := glamour.NewTermRenderer(glamour.WithStyles(style()), glamour.WithWordWrap(r.width), glamour.WithChromaFormatter("terminal16"), glamour.WithPreservedNewLines())
		if err != nil {
			return nil
		}
		return md
	})
	return r
}

// Lines renders a text as lines; nil if it is blank.
func (r *renderer) Lines(text string) []string {
	text = strings.ReplaceAll(display.Safe(text, "\n\t"+joiner), "\t", "    ")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	md := r.md()
	if md == nil || len(text) > maxMarkdown || costly(text) {
		return r.plain(text)
	}
	out, err := md.Render(withTags(inert(text)))
	if err != nil {
		return r.plain(text)
	}
	if out = coloursOnly(strings.ReplaceAll(out, noTag, "")); !r.color {
		out = xansi.Strip(out)
	}
	var lines []string
	for line := range strings.SplitSeq(out, "\n") {
		line = trimRight(line)
		if line == "" && len(lines) == 0 {
			continue
		}
		lines = append(lines, r.fit(line)...)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// costly reports whether rendering a text might take seconds: it has deep nesting, or very many links.
func costly(text string) bool {
	const deepest, links, columns = 8, 1000, 40
	if strings.Count(text, "](") > links || strings.Count(text, "[") > 4*links {
		return true
	}
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
			continue
		}
		fence = display.Fence(bare)
		marks := line[:len(line)-len(strings.TrimLeft(line, "> \t-+*.)0123456789"))]
		if strings.Count(marks, ">")+strings.Count(marks, "- ")+strings.Count(marks, "+ ")+strings.Count(marks, "* ")+
			strings.Count(marks, ". ")+strings.Count(marks, ") ") > deepest || len(line)-len(strings.TrimLeft(line, " \t")) > columns {
			return true
		}
	}
	return false
}

// noTag after a < keeps it from being a tag, which glamour would leave out. It is invisible, and is taken out again.
const noTag = "\u2060"

// withTags keeps what looks like tags: models write List<String>, <Button> and <name>.txt, and mean them
// (gastownhall/beads#5495, cli/cli#1875). Blocks of code need nothing.
func withTags(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if fence != "" || display.Fence(bare) != "" {
			if fence == "" {
				fence = display.Fence(bare)
			} else if strings.HasPrefix(bare, fence) {
				fence = ""
			}
			out.WriteString(line)
			continue
		}
		out.WriteString(tag.ReplaceAllStringFunc(line, func(found string) string {
			if strings.HasPrefix(found, "<http") || strings.HasPrefix(found, "<mailto") {
				return found
			}
			return "<" + noTag + found[1:]
		}))
	}
	return out.String()
}

// plain returns a safe text as it is, in lines that fit.
func (r *renderer) plain(text string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines = append(lines, display.Wrap(line, r.width)...)
	}
	return lines
}

// fit breaks a line that is too wide, such as one of code.
func (r *renderer) fit(line string) []string {
	if xansi.StringWidth(line) <= r.width {
		return []string{line}
	}
	return strings.Split(xansi.Hardwrap(line, r.width, true), "\n")
}

var tag = regexp.MustCompile(`<[A-Za-z/!?][a-z]*`)

var reference = regexp.MustCompile(`&#?[0-9A-Za-z]{1,31};`)

// inert replaces character references that would become control or invisible characters.
func inert(text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		if c := html.UnescapeString(ref); c != ref && display.Line(c) != c {
			return display.Line(c)
		}
		return ref
	})
}

var (
	sequence = regexp.MustCompile("\x1b(\\[[0-9;:]*m|\\][^\x07\x1b]*(\x07|\x1b\\\\)|.)?")
	trailing = regexp.MustCompile("(\x1b\\[[0-9;:]*m| )+$")
)

// coloursOnly drops control sequences other than colours, such as links.
func coloursOnly(text string) string {
	return sequence.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, "\x1b[") && strings.HasSuffix(s, "m") {
			return s
		}
		return ""
	})
}

// trimRight drops the spaces with which lines are filled.
func trimRight(line string) string {
	at := trailing.FindStringIndex(line)
	if at == nil {
		return line
	}
	end := ""
	if strings.Contains(line[:at[0]], "\x1b") {
		end = "\x1b[m"
	}
	return line[:at[0]] + end
}

// style uses the terminal's own colours, so it suits dark and light ones.
func style() ansi.StyleConfig {
	yes, none, two := true, uint(0), uint(2)
	text := func(s string) *string { return &s }
	bold, faint := ansi.StylePrimitive{Bold: &yes}, ansi.StylePrimitive{Faint: &yes}
	cyan := ansi.StylePrimitive{Color: text("6")}
	heading := ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: &yes, Color: text("4"), BlockSuffix: "\n"}}
	return ansi.StyleConfig{
		Document:   ansi.StyleBlock{Margin: &none},
		BlockQuote: ansi.StyleBlock{StylePrimitive: faint, Indent: new(uint(1)), IndentToken: text("│ ")},
		List:       ansi.StyleList{LevelIndent: 2},
		Heading:    heading,
		H1:         ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Underline: &yes}},

		Strikethrough:  ansi.StylePrimitive{CrossedOut: &yes},
		Emph:           ansi.StylePrimitive{Italic: &yes},
		Strong:         bold,
		HorizontalRule: ansi.StylePrimitive{Faint: &yes, Format: "\n────────\n"},
		Item:           ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:    ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "[✓] ", Unticked: "[ ] "},
		Link:           ansi.StylePrimitive{Underline: &yes, Faint: &yes},
		LinkText:       bold,
		Image:          ansi.StylePrimitive{Underline: &yes, Faint: &yes},
		ImageText:      ansi.StylePrimitive{Format: "picture: {{.text}} →"},
		Code:           ansi.StyleBlock{StylePrimitive: cyan},
		CodeBlock: ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{Margin: &two}, Chroma: &ansi.Chroma{
			Comment:             ansi.StylePrimitive{Color: text("#ansidarkgray")},
			Keyword:             ansi.StylePrimitive{Color: text("#ansiblue")},
			KeywordType:         ansi.StylePrimitive{Color: text("#ansiteal")},
			NameFunction:        ansi.StylePrimitive{Color: text("#ansiturquoise")},
			NameTag:             ansi.StylePrimitive{Color: text("#ansiblue")},
			NameAttribute:       ansi.StylePrimitive{Color: text("#ansiteal")},
			LiteralString:       ansi.StylePrimitive{Color: text("#ansidarkgreen")},
			LiteralNumber:       ansi.StylePrimitive{Color: text("#ansipurple")},
			GenericDeleted:      ansi.StylePrimitive{Color: text("#ansidarkred")},
			GenericInserted:     ansi.StylePrimitive{Color: text("#ansidarkgreen")},
			GenericSubheading:   ansi.StylePrimitive{Color: text("#ansiteal")},
			LiteralStringEscape: ansi.StylePrimitive{Color: text("#ansipurple")},
		}},
		Table:                 ansi.StyleTable{CenterSeparator: text("┼"), ColumnSeparator: text("│"), RowSeparator: text("─")},
		DefinitionDescription: ansi.StylePrimitive{BlockPrefix: "\n  "},
	}
}
