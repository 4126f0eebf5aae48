package reports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/activity"
)

// at is a time of November 2026, in a zone two hours east of UTC.
func at(day, hour int) time.Time {
	return time.Date(2026, 11, day, hour, 0, 0, 0, time.FixedZone("", 2*3600))
}

func session(tape, project, title string, last time.Time, prompts ...string) DigestSession {
	g := DigestSession{Session: report.Session{Digest: &index.Digest{About: about.Tape{Name: tape, Project: project, Title: title}, Last: last, Ending: activity.Answered, Answer: "Done."}}}
	for _, p := range prompts {
		g.Prompts = append(g.Prompts, index.Step{Text: p})
	}
	return g
}

func shownDigest(t *testing.T, format string, asJSON bool, list ...DigestSession) string {
	t.Helper()
	out := &bytes.Buffer{}
	s := &stdio.Streams{Stdout: out, Stderr: out, Out: bufio.NewWriter(out), Now: func() time.Time { return at(23, 12) }, JSON: asJSON, Getenv: func(string) string { return "" }}
	if err := ShowDigest(s, list, format); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func week() []DigestSession {
	a := session("s1", "/w/shop", "fix the upload", at(20, 1).UTC(), "fix the upload", "and a test")
	a.Commits = []index.Step{{Text: "1a2b3c4 fix *the* upload"}, {Tape: "s1/agent-x", Text: "1a2b3c4 fix *the* upload"}}
	a.Files = []index.FileUse{{Path: "/w/shop/a.go", Writes: 1, Added: 3, Removed: 1}, {Path: "/etc/hosts", Writes: 1}}
	b := session("s2", "/w/api", "why is it slow?", at(20, 9), "why is it slow?")
	b.Ending, b.Answer = activity.Failed, "overloaded"
	c := session("s3", "", "", at(19, 9), "hi")
	c.Ending = activity.Interrupted
	return []DigestSession{a, b, c}
}

func TestText(t *testing.T) {
	const want = `Thursday 2026-11-19
  no project
    s3  s3
      > hi
      = interrupted

Friday 2026-11-20
  api
    why is it slow?  s2
      = ended with an error: overloaded
  shop
    fix the upload  s1
      > and a test
      ± 2 files +3 -1  a.go, /etc/hosts
      * 1a2b3c4 fix *the* upload
      = Done.
`
	if got := shownDigest(t, "text", false, week()...); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	if got := shownDigest(t, "text", false); got != "No matching sessions.\n" {
		t.Errorf("without sessions it shows %q", got)
	}
}

// TestLongName: a title is cut, also beside a name that is as long as the screen is wide.
func TestLongName(t *testing.T) {
	out := &bytes.Buffer{}
	s := &stdio.Streams{Out: bufio.NewWriter(out), Now: time.Now, Getenv: func(string) string { return "" }}
	s.Screen().Width = 40
	name := strings.Repeat("n", 40)
	if err := errors.Join(ShowDigest(s, []DigestSession{session(name, "", strings.Repeat("title ", 50), at(20, 9))}, "text"), s.Flush()); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "    title tit…  "+name+"\n") {
		t.Errorf("the title is not cut:\n%s", got)
	}
}

func TestMarkdown(t *testing.T) {
	got := shownDigest(t, "markdown", false, week()[0])
	const want = "## Friday, 2026-11-20\n\n### shop\n\n- **fix the upload** · `s1`\n  - asked: and a test\n  - changed: 2 files +3 -1  a.go, /etc/hosts\n" +
		"  - committed: 1a2b3c4 fix \\*the\\* upload\n  - end: Done.\n"
	if got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}

func TestJSON(t *testing.T) {
	got := shownDigest(t, "text", true, week()[0])
	const want = `{"day":"2026-11-20","project":"/w/shop","tape":"s1","title":"fix the upload","prompts":["fix the upload","and a test"],` +
		`"files":["a.go","/etc/hosts"],"commits":[{"id":"1a2b3c4","subject":"fix *the* upload"}],"end":"Done."}` + "\n"
	if got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}

// With many sessions, each has fewer lines, and says how many requests are left out.
func TestMany(t *testing.T) {
	var list []DigestSession
	var prompts []string
	for i := range 20 {
		prompts = append(prompts, fmt.Sprint("request ", i))
	}
	for i := range 20 {
		list = append(list, session(fmt.Sprint("s", i), "/w/shop", "title", at(20, 9), prompts...))
	}
	if got := shownDigest(t, "text", false, list...); strings.Count(got, "\n") != 2+20*5 || strings.Count(got, "… and 18 more requests\n") != 20 {
		t.Errorf("not five lines for each of 20 sessions:\n%s", got)
	}
	if got := shownDigest(t, "text", true, list...); strings.Count(got, "request ") != 400 {
		t.Errorf("JSON lacks some of the 400 requests:\n%s", got)
	}
}
