package about

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
)

// How much of a session's first request its README.md shows.
const (
	requestBytes = 1500
	requestLines = 25
)

// Masker masks the secrets in a JSON value; see [secrets.Scanner.Mask].
type Masker interface {
	Mask(value []byte, skip func(secrets.Finding) bool) ([]byte, []secrets.Finding)
}

// Readme returns what the README.md of a recorded session says: its title, agent, project and beginning, and the
// first request. t has the session's entries up to that request, which is first; without a request, first is the
// zero Entry. What is known only later is left out, so that recording a running session gives the same bytes as
// importing it. Recorded text has no effect as Markdown, and its secrets are masked.
func Readme(t Tape, first layout.Entry, m Masker) string {
	var b strings.Builder
	title := Masked(t.Title, m)
	if strings.HasSuffix(title, "…") {
		title = wholeWords(strings.TrimSuffix(title, "…"))
	}
	b.WriteString("# " + cmp.Or(inert(title), "A session") + "\n\n")
	fact := func(name, value string) {
		if value = inert(Masked(value, m)); value != "" {
			b.WriteString("- " + name + ": " + value + "\n")
		}
	}
	fact("Agent", strings.TrimSpace(t.Agent+" "+t.AgentVersion))
	fact("Project", t.ProjectBranch())
	if !t.Started.IsZero() {
		fact("Began", t.Started.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if said := requestShown(first, m); said != "" {
		fence := strings.Repeat("`", max(3, longestRun(said, '`')+1))
		b.WriteString("\n" + requestHeading + "\n\n" + fence + "text\n" + said + "\n" + fence + "\n")
	}
	return b.String()
}

const requestHeading = "The first request:"

// ShowsRequest reports whether a README.md shows the request of an entry.
func ShowsRequest(readme []byte, e layout.Entry, m Masker) bool {
	said := requestShown(e, m)
	return said != "" && strings.Contains(layout.ReadmeSession(readme), requestHeading+"\n\n```") &&
		strings.Contains(layout.ReadmeSession(readme), "text\n"+said+"\n```")
}

// requestShown returns the first lines of a request, masked. It never cuts inside a word: purge would not recognise
// half a secret.
func requestShown(e layout.Entry, m Masker) string {
	const plenty = 64 << 10 // bytes: a secret that begins in what is shown ends before
	said := request(e)
	said = printable(Masked(said[:min(len(said), plenty)], m))
	head := said
	if lines := strings.SplitAfterN(said, "\n", requestLines+1); len(lines) > requestLines {
		head = strings.Join(lines[:requestLines], "")
	}
	if len(head) > requestBytes {
		head = wholeWords(strings.ToValidUTF8(head[:requestBytes], ""))
	}
	head = strings.TrimSpace(head)
	if head != strings.TrimSpace(said) {
		head = strings.TrimSpace(head + "\n…")
	}
	return head
}

// wholeWords cuts off the last word of a text that was cut.
func wholeWords(text string) string {
	return text[:strings.LastIndexFunc(text, unicode.IsSpace)+1]
}

// maskMark matches mask marks. In a README.md they have no fingerprint: with it, somebody could find out a weak
// password by trying.
var maskMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\[redacted:[a-z0-9-]+):k?[0-9a-f]{16}\]`) })

// Masked replaces the secrets in a text by marks without fingerprints.
func Masked(text string, m Masker) string {
	out, _ := m.Mask(jsonl.AppendString(nil, strings.ToValidUTF8(text, "\uFFFD")), func(secrets.Finding) bool { return false })
	said, ok := jsonl.String(out)
	if !ok {
		return ""
	}
	return maskMark().ReplaceAllString(said, "$1]")
}

// printable removes characters that are invisible or reorder the text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\u200c', r == '\u200d':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return -1
		}
		return r
	}, text)
}

// markup matches what may mean something in Markdown on a git host.
var markup = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^[>+=-]|^[0-9]+[.)]|[\\\\`*_\\[\\]<&#~|$!@{}]|://|www\\.")
})

// inert is a line of text that Markdown shows as it is: in a code span, if it has characters that may mean
// something else. They are not escaped, so that a purge finds the text.
func inert(text string) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	if !markup().MatchString(text) {
		return text
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// longestRun is the length of the longest run of a byte.
func longestRun(text string, c byte) (longest int) {
	n := 0
	for i := range len(text) {
		if text[i] != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}
