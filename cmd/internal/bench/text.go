package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// vocabulary is the number of words. The frequency of the n-th is about proportional to 1/n, as in natural
// languages.
const vocabulary = 150_000

// word returns the n-th word. Frequent words are short.
func word(n int) string {
	const onsets, vowels = "bdfgklmnprstvwz", "aeiou"
	var b strings.Builder
	for n += 15; n > 0; n /= 75 {
		b.WriteByte(onsets[n%75/5])
		b.WriteByte(vowels[n%5])
	}
	return b.String()
}

// name returns the n-th identifier, han the n-th Chinese word, code the n-th error code.
func name(n int) string { return word(n) + "_" + word(n/3) }
func han(n int) string  { return string([]rune{rune(0x4e00 + n%2500), rune(0x5f00 + n/7%2500)}) }
func code(n int) string { return fmt.Sprintf("E_%s_%d", strings.ToUpper(word(500+n%60)), n%90+10) }

// writeWords writes words to search for, named by their frequency: rare is in a few of a million entries, often
// in a fifth of them. typo is a wrong spelling of right.
func writeWords(w io.Writer) {
	fmt.Fprintf(w, "rare=%s often=%s two='%s %s' three='%s %s %s' some=%s right=%s typo=%s\n", word(140_000), word(8), word(40), word(41),
		word(18), word(19), word(20), word(300), word(9_000), "y"+word(9_000)[1:])
	fmt.Fprintf(w, "prefix=%s cjk2=%s name=%s code=%s absent=xqzzvkw\n", word(9_000)[:4], han(60), name(300), code(7))
	fmt.Fprintf(w, "common='%s' rares='%s'\n", list(30, 5), list(100_000, 991))
}

func list(from, step int) string {
	var words []string
	for i := range 40 {
		words = append(words, word(from+i*step))
	}
	return strings.Join(words, " ")
}

// text makes entries like those that agents record. They are the same each time.
type text struct {
	rng  *rand.Rand
	zipf *rand.Zipf
	at   time.Time
}

func newText() *text {
	rng := rand.New(rand.NewPCG(7, 7))
	return &text{rng, rand.NewZipf(rng, 1.05, 2.7, vocabulary-1), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (t *text) pick() int { return int(t.zipf.Uint64()) }

// words returns at least n bytes of words, with a few identifiers and error codes among them. One text in
// fourteen is Chinese.
func (t *text) words(n int) string {
	b := make([]byte, 0, n+16)
	chinese := t.rng.IntN(14) == 0
	for len(b) < n {
		switch r := t.rng.IntN(64); {
		case r == 0:
			b = append(append(b, name(t.pick()/20)...), ' ')
		case r == 1 && t.rng.IntN(10) == 0:
			b = append(append(b, code(t.pick())...), ' ')
		case chinese:
			b = append(b, han(t.pick()/10)...)
		default:
			b = append(append(b, word(t.pick())...), ' ')
		}
	}
	return strings.TrimSpace(string(b))
}

// size returns a random size in bytes, from a distribution with a long tail and about this median.
func (t *text) size(median int) int {
	n := float64(median)
	for t.rng.IntN(3) == 0 {
		n *= 2.2
	}
	return min(int(n*(0.3+1.4*t.rng.Float64())), 4<<20)
}

type entry struct{ kind, payload, date, text string }

func (e entry) json() string {
	return fmt.Sprintf(`{"kind":%q,"payload":%s,"date":%q}`, e.kind, e.payload, e.date)
}

// entry returns the next entry, of about 430 bytes on average.
func (t *text) entry() entry {
	t.at = t.at.Add(time.Duration(t.rng.IntN(20)) * time.Second)
	e := entry{kind: "message", date: t.at.Format("2006-01-02T15:04:05.000000+00:00")}
	switch t.rng.IntN(8) {
	case 0:
		e.text = t.words(t.size(60))
		e.payload = fmt.Sprintf(`{"role":"user","content":%q}`, e.text)
	case 1, 2, 3:
		e.text = t.words(t.size(165))
		e.payload = fmt.Sprintf(`{"role":"assistant","content":%q}`, e.text)
	case 4, 5:
		e.kind, e.text = "tool_call", t.words(t.size(40))
		e.payload = fmt.Sprintf(`{"calls":[{"id":"call_%x","type":"function","function":{"name":"bash","arguments":%q}}]}`, t.rng.Uint64(), fmt.Sprintf(`{"command":%q}`, e.text))
	default:
		e.kind, e.text = "tool_result", t.words(t.size(235))
		e.payload = fmt.Sprintf(`{"results":[%q]}`, e.text)
	}
	return e
}

// transcripts writes n sessions of at least size bytes each. The files are dated an hour ago, because an import
// reads newer files again: they may still change.
func (t *text) transcripts(n, size int, dir string) error {
	old := time.Now().Add(-time.Hour)
	for i := range n {
		var b strings.Builder
		for k := 0; k < 6 || b.Len() < size; k++ {
			role, block := []string{"user", "assistant"}[k%2], "text"
			e := t.entry()
			content := fmt.Sprintf(`[{"type":%q,"text":%q}]`, block, e.text)
			switch k % 6 {
			case 1:
				content = fmt.Sprintf(`[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":%q}}]`, k, e.text)
			case 2:
				content = fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]`, k-1, t.words(t.size(1500)))
			}
			fmt.Fprintf(&b, `{"type":%q,"sessionId":"s%d","uuid":"u%d","timestamp":%q,"cwd":"/home/dev/shop","message":{"role":%q,"id":"m%d","content":%s}}`+"\n",
				role, i, k, e.date[:19]+"Z", role, k, content)
		}
		path := filepath.Join(dir, fmt.Sprintf("s%d.jsonl", i))
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			return err
		}
		if err := os.Chtimes(path, old, old); err != nil {
			return err
		}
	}
	return nil
}

// writeTape writes a tape of ten phases for git fast-import, with the commits that the program would make. Each
// phase but the last has a message.
func writeTape(w io.Writer, name string) {
	const who, date = "Bench <bench@example.org> 1767225600 +0000", "2026-01-01T00:00:00.000000+00:00"
	file := func(path, content string) {
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	anchor, folder, last := "session/start", "001_session-start", 0
	for phase := range 10 {
		subject, first, before := "start: "+name, last+1, folder
		if phase > 0 {
			anchor = fmt.Sprintf("phase-%d", phase)
			folder = fmt.Sprintf("%03d_%s", phase+1, anchor)
			subject, last = "handoff: "+anchor, last+1
		}
		last++
		message := fmt.Sprintf("%s\n\nTape-Name: %s\nTape-Anchor: %s\nTape-Entries: %d-%d\nTape-Format: 1\n", subject, name, anchor, first, last)
		fmt.Fprintf(w, "commit refs/heads/tape/%s\nauthor %s\ncommitter %s\ndata %d\n%s", name, who, who, len(message), message)
		if phase == 0 {
			file("tape.json", fmt.Sprintf(`{"format":1,"name":%q,"created":%q}`+"\n", name, date))
		} else {
			file("anchors/"+before+"/messages.jsonl",
				fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":"what is next in %s?"},"meta":{},"date":%q}`+"\n", first, name, date))
		}
		file("anchors/"+folder+"/anchor.json",
			fmt.Sprintf(`{"id":%d,"kind":"anchor","payload":{"name":%q,"state":{"owner":"human"}},"meta":{},"date":%q}`+"\n", last, anchor, date))
		fmt.Fprintf(w, "\ntag anchor/%s/%s\nfrom refs/heads/tape/%s\ntagger %s\ndata %d\n%s\n", name, folder, name, who, len(anchor)+1, anchor)
	}
}
