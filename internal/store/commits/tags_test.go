package commits_test

import (
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// listed returns the tags of a repository, each with its object.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	return strings.Split(storetest.Git(t, dir, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/tags"), "\n")
}

// A lost tag is restored byte for byte. A tag that somebody moved to another commit of the tape stays.
func TestEnsure(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	for _, name := range []string{"one", "two", "three"} {
		storetest.Append(t, m, repo.Message("user", name))
		_, err := m.Handoff(t.Context(), repo.Anchor{Name: name, State: []byte(`{"summary":"of ` + name + `","n":1.50}`)})
		storetest.Must(t, err)
	}
	want := listed(t, s.Dir())
	ensure := func(what string, all, makes bool) {
		t.Helper()
		made, err := commits.EnsureTags(t.Context(), storetest.InnerTape(m), storetest.Head(t, m), all)
		if err != nil || made != makes {
			t.Errorf("%s: made %v, %v; want %v", what, made, err, makes)
		}
	}
	ensure("nothing is missing", true, false)
	drop := func(names ...string) {
		for _, name := range names {
			storetest.Git(t, s.Dir(), "update-ref", "-d", "refs/tags/anchor/main/"+name)
		}
	}
	drop("003_two", "004_three") // as after a crash between commits and tags
	ensure("the last two", false, true)
	if got := listed(t, s.Dir()); !slices.Equal(got, want) {
		t.Errorf("the tags are\n%q, want\n%q", got, want)
	}
	drop("002_one")
	ensure("one before a correct one, without all", false, false)
	ensure("one before a correct one, with all", true, true)
	if got := listed(t, s.Dir()); !slices.Equal(got, want) {
		t.Errorf("the tags are\n%q, want\n%q", got, want)
	}
	storetest.Git(t, s.Dir(), "tag", "-f", "anchor/main/002_one", "anchor/main/001_session-start")
	ensure("moved by somebody", true, false)
	drop("002_one")
	ensure("gone again", true, true)
}

// Tags of phases that the tape no longer has are removed, others stay.
func TestPrune(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Handoff(t, m, "next")
	want := listed(t, s.Dir())
	for _, name := range []string{"anchor/main/003_gone", "anchor/main/002_other"} {
		storetest.Git(t, s.Dir(), "tag", name, "tape/main")
	}
	for _, name := range []string{"v1", "anchor/mainly/003_x"} {
		storetest.Git(t, s.Dir(), "tag", name, "tape/main")
	}
	v, err := snapshot.AtCommit(storetest.Inner(s), storetest.Head(t, m))
	storetest.Must(t, err)
	storetest.Must(t, commits.PruneTags(t.Context(), storetest.InnerTape(m), v.List))
	storetest.Git(t, s.Dir(), "tag", "-d", "v1", "anchor/mainly/003_x")
	if got := listed(t, s.Dir()); !slices.Equal(got, want) {
		t.Errorf("the tags are\n%q, want\n%q", got, want)
	}
}

// A correct tag is not created again; one of another commit is moved.
func TestSet(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Handoff(t, m, "next")
	in, ref := storetest.InnerTape(m), layout.TagPrefix+"main/009_x"
	first := storetest.Hash(t, storetest.Git(t, s.Dir(), "rev-parse", "tape/main~1"))
	for _, h := range []gitstore.Hash{first, storetest.Head(t, m), storetest.Head(t, m)} {
		storetest.Must(t, commits.SetTag(t.Context(), in, ref, h, gitstore.Signature{Name: "T", Email: "t@example.org", When: testkit.Clock()}))
		if got := storetest.Git(t, s.Dir(), "rev-parse", ref); got != h.String() {
			t.Errorf("the tag is on %s, want %s", got, h)
		}
	}
	storetest.Git(t, s.Dir(), "update-ref", "-d", ref)
}

// A tag's text: the name in one line, the summary, the state as written, and nothing that controls a terminal.
func TestMessage(t *testing.T) {
	for payload, want := range map[string][2]string{
		`{"name":"plan"}`:                                         {"plan\n", ""},
		`{"name":"two\nlines","state":{}}`:                        {"two lines\n\nState: {}\n", ""},
		`{"name":"p","state":{"summary":" so far\n","n":1.50}}`:   {"p\n\nso far\n\nState: {\"summary\":\" so far\\n\",\"n\":1.50}\n", "so far"},
		`{"name":"p","state":{"summary":"\u001b[31mred"}}`:        {"p\n\n[31mred\n\nState: {\"summary\":\"\\u001b[31mred\"}\n", "[31mred"},
		`{"name":"p","state":{"a":"\u009b31m\u007fb"}}`:           {"p\n\nState: {\"a\":\"31mb\"}\n", ""},
		`{"name":"p","state":{"summary":"` + long + `"},"x":"y"}`: {"p\n\n" + long + "\n\nState: {\"summary\":\"" + long + "\"}\n", long[:64<<10-1] + "…"},
	} {
		line := []byte(`{"id":1,"kind":"anchor","payload":` + payload + `,"meta":{},"date":"2026-11-20"}`)
		e, err := jsonl.Parse(line)
		storetest.Must(t, err)
		if got := commits.TagMessage(e); got != want[0] {
			t.Errorf("the tag of %.100s says %.200q, want %.200q", payload, got, want[0])
		}
		if got := commits.CommitText(line); got != want[1] {
			t.Errorf("the commit of %.100s says %.200q (%d bytes), want %.200q (%d bytes)", payload, got, len(got), want[1], len(want[1]))
		}
	}
	if got := commits.CommitText([]byte("torn")); got != "" {
		t.Errorf("the commit text of a torn line is %q, want none", got)
	}
}

// The limit of a commit's text falls inside a character of long.
var long = "x" + strings.Repeat("ü", 40_000)
