package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// TestParts: a session may go on in other files. What is said there is on the tape also if it was said before; what the last
// file does not go on with was taken back (openai/codex#31433, farion1231/cc-switch#6905, apache/maka#5450).
func TestParts(t *testing.T) {
	const session = "0199aaaa-0000-7000-8000-000000000000"
	parts := map[string]string{"A": session, "B": session[:35] + "b", "C": session[:35] + "c"}
	for _, x := range []struct{ files, want string }{
		{"A:one,two B<A2:go", "A:one,two B:go"},
		{"A:one,go B<A2:go C<B1:go", "A:one,go B:go C:go"},
		{"A:one,two B<A1:go", "A:one,(two) B:go"},
		{"A:one,two B<A1:go,wrong C<B1:now", "A:one,(two) B:go,(wrong) C:now"},
		{"A:one,two B<A1:go C<A0:now", "A:(one),(two) B:(go) C:now"},
		{"A:one,two C<B1:go", "A:one,two C:go"}, // a part is missing
	} {
		for _, folder := range []string{"sessions/2026/09/1%d", "archived_sessions", "copies"} {
			home, ends, paths := t.TempDir(), map[string][]int{}, []string(nil)
			for n, file := range strings.Fields(x.files) {
				head, said, _ := strings.Cut(file, ":")
				name, base, further := strings.Cut(head, "<")
				meta, stem := `"id":"`+session+`","cwd":"/w","history_mode":"paginated"`, session
				if further {
					end := 99999
					if of := ends[base[:1]]; of != nil {
						end = of[base[1]-'0']
					}
					meta += fmt.Sprintf(`,"history_base":{"thread_id":%q,"end_ordinal_exclusive":9,"end_byte_offset":%d}`, parts[base[:1]], end)
					stem += "_" + parts[name]
				}
				line := func(typ, payload string) string {
					return fmt.Sprintf(`{"timestamp":"2026-09-1%dT10:00:0%d.000Z","type":%q,"payload":{%s}}`, n, len(ends[name]), typ, payload) + "\n"
				}
				text := line("session_meta", meta)
				ends[name] = []int{len(text)}
				for _, words := range strings.Split(said, ",") {
					text += line("response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"`+words+`"}]`)
					ends[name] = append(ends[name], len(text))
				}
				dir := folder
				if strings.Contains(dir, "%") {
					dir = fmt.Sprintf(dir, n)
				}
				path := filepath.Join(home, dir, fmt.Sprintf("rollout-2026-09-1%dT10-00-00-%s.jsonl", n, stem))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, path)
			}
			var got []string
			seen := formattest.Seen{}
			for n, path := range slices.Concat(paths, paths) {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				items, _ := imp.Items(t, codex.Format.Name, path, data, seen)
				if n >= len(paths) {
					if len(items) > 0 {
						t.Errorf("%s: read again: %s", x.files, formattest.Show(items))
					}
					continue
				}
				var said []string
				for _, it := range items {
					words := jsonl.GetString(it.Entry.Payload, "content")
					if (layout.Entry{Meta: it.Entry.Meta}).Hidden() {
						words = "(" + words + ")"
					}
					if it.Entry.Kind == "message" {
						said = append(said, words)
					}
				}
				got = append(got, strings.Fields(x.files)[n][:1]+":"+strings.Join(said, ","))
				if is := about.EventName(items[0].Entry.Payload); (is == "session.part") != (n > 0) {
					t.Errorf("%s: file %d begins with %s", x.files, n, is)
				}
			}
			if strings.Join(got, " ") != x.want {
				t.Errorf("%s in %s: %s, want %s", x.files, folder, strings.Join(got, " "), x.want)
			}
		}
	}
}
