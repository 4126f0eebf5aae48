package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/serve/web"
	"tape/repo"
)

// shopProject makes a project in git whose branch "pieces" has two commits: one that the session "upload" wrote, and one by
// hand, with a picture and a large file. It returns its folder.
func (s *site) shopProject() string {
	s.Helper()
	dir, err := filepath.EvalSymlinks(s.TempDir())
	must(s.T, err)
	minute := 0
	git := func(args ...string) {
		s.Helper()
		minute++
		date := fmt.Sprintf("2026-11-20T10:%02d:00Z", minute)
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org",
			"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		if out, err := cmd.CombinedOutput(); err != nil {
			s.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		s.Helper()
		must(s.T, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(s.T, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	const before, after = "// Send sends a file.\nfunc Send() error { return sendAtOnce() }\n", "// Send sends a <file> in pieces of a mebibyte.\nfunc Send() error { return sendInPieces(1 << 20) }\n"
	git("init", "-q", "-b", "main")
	write("upload.go", before)
	git("add", ".")
	git("commit", "-qm", "before")
	git("checkout", "-qb", "pieces")
	t, err := s.store.CreateTape(s.Context(), "upload")
	must(s.T, err)
	at := func(d string, kind string, payload, meta any) repo.Draft {
		line, err := json.Marshal(object{"kind": kind, "payload": payload, "meta": meta, "date": "2026-11-20T10:0" + d})
		must(s.T, err)
		out, err := repo.ParseDraft(line)
		must(s.T, err)
		return out
	}
	call := func(id, name string, args object) object {
		text, err := json.Marshal(args)
		must(s.T, err)
		return object{"calls": []object{{"id": id, "type": "function", "function": object{"name": name, "arguments": string(text)}}}}
	}
	_, err = t.Append(s.Context(), nil,
		at("3:10Z", "event", object{"name": "session", "data": object{"cwd": dir}}, object{"source": object{"format": "claude-code"}}),
		at("3:11Z", "message", object{"role": "user", "content": "Large uploads fail: send the file in *pieces*"}, object{}),
		at("3:12Z", "tool_call", call("1", "Bash", object{"command": "go test ./upload/..."}), object{}),
		at("3:13Z", "tool_result", object{"results": []any{"FAIL"}}, object{"call_ids": []string{"1"}, "is_error": []string{"1"}}),
		at("3:14Z", "tool_call", call("2", "Edit", object{"file_path": filepath.Join(dir, "upload.go"), "old_string": before, "new_string": after}), object{}),
		at("3:15Z", "tool_result", object{"results": []any{"edited"}}, object{"call_ids": []string{"2"}}),
		at("3:16Z", "message", object{"role": "assistant", "content": "`Send` sends pieces now."}, object{}),
		at("3:17Z", "message", object{"role": "user", "content": "Show the progress in the terminal"}, object{}),
		at("3:18Z", "message", object{"role": "assistant", "content": "Where?"}, object{}),
		at("3:19Z", "message", object{"role": "user", "content": "Never mind, write the manual instead"}, object{}),
		at("3:20Z", "tool_call", call("3", "Write", object{"file_path": filepath.Join(dir, "docs/manual.md"), "content": "# The manual of uploads\n"}), object{}),
		at("3:21Z", "tool_result", object{"results": []any{"written"}}, object{"call_ids": []string{"3"}}),
		at("3:22Z", "event", object{"name": "project.commit", "data": object{"id": "3f2a1b9c5d7e8f90aabbccddeeff001122334455", "subject": "Write the manual"}}, object{"source": object{"format": "claude-code"}}))
	must(s.T, err)
	write("upload.go", after)
	write("docs/manual.md", "# The manual of uploads\n")
	git("add", ".")
	git("commit", "-qm", "Uploads: send files in pieces")
	write("internal/checkout/payment/providers/acceptance/retry_with_backoff_test.go", "package acceptance\n\n// "+strings.Repeat("a long line ", 60)+"\n")
	write("picture.bin", "\x00\x01\x02")
	write("large.txt", strings.Repeat("one of many lines\n", 9000))
	git("mv", "docs/manual.md", "docs/guide.md")
	git("add", ".")
	git("commit", "-qm", "By hand")
	return dir
}

// TestReview: the page has for each commit what was asked, what failed and what was changed, and says what nobody knows.
func TestReview(t *testing.T) {
	s := newSite(t, false)
	dir := s.shopProject()
	s = newSiteOf(t, web.Options{Store: s.store, Project: dir, Start: "/review?range=pieces"})
	s.shows(s.view.Link(), "/review?range=pieces")
	s.shows("/review", "pieces", "By hand", `action="/review"`)
	s.shows("/t/upload/-/outline", "<li>3f2a1b9c5d7e Write the manual</li>")
	page := s.shows("/review?range=main..pieces", "Uploads: send files in pieces", "wrote 2 of 3 lines", "wrote 1 of 3 lines", "in <em>pieces</em>", "go test ./upload/...", "Failed on the way", "<code>Send</code> sends pieces now",
		"By hand or unknown: no recorded session wrote it", "/t/upload/@3", "1 request in these sessions", "Show the progress in the terminal",
		"<ins>+ // Send sends a <b>&lt;</b>file<b>&gt; in pieces of a mebibyte</b>.</ins>", "<del>- // Send sends a file.", "not a text", "was docs/manual.md", "no line has changed", "All changes of this commit", "1 by hand or unknown")
	if strings.Count(page, "one of many lines") > 0 {
		t.Error("the page of two commits has all of a large file")
	}
	link := page[:strings.Index(page, "All changes of this commit")]
	link = link[strings.LastIndex(link, `href="`)+len(`href="`):]
	s.shows(link[:strings.IndexByte(link, '"')], "one of many lines", "By hand")
	s.shows("/review?range="+url.QueryEscape("pieces..main"), "has no commits")
	s.shows("/", `href="/review"`)
	for path, want := range map[string]int{"/review?range=nowhere": http.StatusNotFound, "/review?range=--output%3D%2Ftmp%2Fx": http.StatusNotFound, "/review?range=..nowhere": http.StatusNotFound} {
		if code, body := s.get(path); code != want || !strings.Contains(body, "there is no commit") {
			t.Errorf("%s answers %d", path, code)
		}
	}
	s = newSiteOf(t, web.Options{Store: s.store})
	if code, _ := s.get("/review"); code != http.StatusNotFound {
		t.Errorf("without a project, the page answers %d", code)
	}
	if page := s.shows("/"); strings.Contains(page, "/review") {
		t.Error("without a project, pages lead to reviews")
	}
}
