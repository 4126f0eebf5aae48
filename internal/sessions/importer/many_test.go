package importer

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// chat returns a conversation of claude.ai.
func chat(id string, said ...string) string {
	var messages []string
	for i, text := range said {
		messages = append(messages, fmt.Sprintf(`{"uuid":"%s-%d","sender":"human","text":%q,"created_at":"2026-01-01T00:00:0%dZ"}`, id, i, text, i))
	}
	return fmt.Sprintf(`{"uuid":%q,"name":"Chat %s","created_at":"2026-01-01T00:00:00Z","chat_messages":[%s]}`, id, id, strings.Join(messages, ","))
}

// zipped returns an archive. Names and contents of its files alternate in the arguments.
func zipped(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		storetest.Must(t, err)
	}
	storetest.Must(t, z.Close())
	return b.String()
}

// importContent imports a file with this content, and returns the result of each session as "TAPE IMPORTED KNOWN", or
// its error.
func importContent(t *testing.T, s *repo.Store, content string, o Options) (told []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.bin")
	storetest.WriteFile(t, path, []byte(content))
	temp := storetest.Mkdir(t, t.TempDir(), "tmp")
	t.Setenv("TMPDIR", temp)
	batch := NewBatch(s, "1", OpenFile, func(r Result, err error) error {
		if err != nil {
			told = append(told, strings.ReplaceAll(err.Error(), path, "FILE"))
		} else {
			told = append(told, fmt.Sprint(r.Tape, " ", r.Imported, " ", r.Known))
		}
		return nil
	})
	defer batch.Close()
	storetest.Must(t, batch.File(t.Context(), path, o))
	storetest.Must(t, batch.Flush(t.Context()))
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	return told
}

func wantResults(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// Each session of a list or of an archive becomes a tape. A newer export adds what is new.
func TestManySessions(t *testing.T) {
	s := storetest.New(t, nil)
	wantResults(t, importContent(t, s, "["+chat("c-1", "one", "two")+",\n "+chat("c-2", "three")+"]\n", Options{}), "c-1 4 0", "c-2 3 0")
	archive := zipped(t, "user.json", "{}", "../../conversations-000.json", "["+chat("c-1", "one", "two", "four")+"]", "in/conversations-001.json", "["+chat("c-3", "five")+"]")
	wantResults(t, importContent(t, s, archive, Options{}), "c-1 1 4", "c-3 3 0")
	wantResults(t, importContent(t, s, archive, Options{}), "c-1 0 5", "c-3 0 3")
	tape, err := s.Tape(t.Context(), "c-1")
	storetest.Must(t, err)
	sum, err := tape.Summary(t.Context())
	storetest.Must(t, err)
	if sum.Entries != 6 {
		t.Errorf("tape c-1 has %d entries, want 6", sum.Entries)
	}
	wantResults(t, importContent(t, s, "["+chat("c-4", "one")+"]", Options{Tape: "mine"}), "mine 3 0")
}

// A session that cannot be read is reported, and the others are imported.
func TestBrokenLists(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		o       Options
		want    []string
	}{
		"cut off":      {"[" + chat("c-1", "one") + "," + chat("c-2", "two")[:60], Options{}, []string{"c-1 3 0", `import "FILE": session 2 is incomplete: the file ends too early`}},
		"no list":      {"[" + chat("c-1", "one") + " " + chat("c-2", "two") + "]", Options{}, []string{"c-1 3 0", `import "FILE": not JSON after session 1: the rest of the file is left out`}},
		"no object":    {"[" + chat("c-1", "one") + ",7," + chat("c-2", "two") + "]", Options{}, []string{"c-1 3 0", `import "FILE": session 2 is not an object`, "c-2 3 0"}},
		"no id":        {"[" + strings.Replace(chat("c-1", "one"), `"uuid":"c-1"`, `"uuid":null`, 1) + "," + chat("c-2", "two") + "]", Options{}, []string{`import "FILE": session 1 has no id`, "c-2 3 0"}},
		"no end":       {`[{"uuid":"c-1","chat_messages":[{"text":"` + strings.Repeat("x", 2<<20), Options{}, []string{`import "FILE": session 1 is incomplete: the file ends too early`}},
		"too large":    {"[" + strings.Replace(chat("c-1", "one"), "one", strings.Repeat("x", record.MaxSession), 1) + "," + chat("c-2", "two") + "]", Options{}, []string{`import "FILE": session 1 is larger than 64 MiB`, "c-2 3 0"}},
		"one tape":     {"[" + chat("c-1", "one") + "," + chat("c-2", "two") + "]", Options{Tape: "mine"}, []string{`"FILE" has 2 sessions, and --tape names one tape`}},
		"empty":        {zipped(t, "conversations.json", "[]"), Options{Format: "claude-ai"}, nil},
		"no sessions":  {zipped(t, "user.json", "{}"), Options{}, []string{`import "FILE": the archive has no file conversations.json`}},
		"no archive":   {"PK\x03\x04 and so on", Options{}, []string{`import "FILE": zip: not a valid zip file`}},
		"a zip bomb":   {zipped(t, "conversations.json", "["+chat("c-1", "one")+strings.Repeat(" ", 17<<20)+"]"), Options{}, []string{`import "FILE": unpacked, it would have more than 100 times its size; unpack "conversations.json" yourself if you trust it`}},
		"another list": {zipped(t, "conversations.json", `[{"role":"user","content":"hi"}]`), Options{}, []string{`import FILE: not a transcript in any known format`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.New(t, nil)
			wantResults(t, importContent(t, s, c.content, c.o), c.want...)
		})
	}
}

// A session's id is never used as a path.
func TestHostileID(t *testing.T) {
	told := importContent(t, storetest.New(t, nil), "["+chat("../x", "one")+","+chat("c-2", "two")+"]", Options{})
	if len(told) != 2 || !strings.Contains(told[0], "../x") || told[1] != "c-2 3 0" {
		t.Errorf("the results are %q, want an error about ../x, and then c-2", told)
	}
}

// Identify refuses a file with many sessions.
func TestIdentifyMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conversations.json")
	storetest.WriteFile(t, path, []byte("["+chat("c-1", "one")+"]"))
	if _, err := Identify(t.Context(), path); !errors.Is(err, ErrManySessions) {
		t.Errorf("error %v, want ErrManySessions", err)
	}
}
