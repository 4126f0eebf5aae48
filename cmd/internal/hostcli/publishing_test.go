package hostcli

import (
	"bufio"
	"bytes"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/stdio"
	"tape/internal/store/about"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// publish publishes, and returns what the program said.
func publish(t *testing.T, s *repo.Store, o hostcmd.PublishOptions) (said string, err error) {
	t.Helper()
	var out bytes.Buffer
	st := &stdio.Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Out: bufio.NewWriter(&out), Getenv: func(string) string { return "" }, Now: time.Now}
	o.PublishApp = hostcmd.PublishApp{Streams: st, Store: s, Build: "1", About: o.PublishApp.About}
	err = publishSessions(t.Context(), o, func(text string, _ int) string { return "<p>" + html.EscapeString(text) + "</p>" })
	storetest.Must(t, st.Out.Flush())
	return out.String(), err
}

// asked returns a workspace with a session for each name. Each has one request.
func asked(t *testing.T, names ...string) *repo.Store {
	s := storetest.New(t, nil)
	for _, name := range names {
		_, err := s.CreateTape(t.Context(), name)
		storetest.Must(t, err)
		storetest.Append(t, storetest.Tape(t, s, name), repo.Message("user", "the request of "+name))
	}
	return s
}

func tapes(t *testing.T, s *repo.Store, names ...string) (list []*repo.Tape) {
	for _, name := range names {
		list = append(list, storetest.Tape(t, s, name))
	}
	return list
}

// Two calls that publish side by side from one workspace wait for each other: the branch has the sessions of both.
func TestSideBySide(t *testing.T) {
	s := asked(t, "one", "two")
	var group errgroup.Group
	for _, name := range []string{"one", "two"} {
		own := storetest.Reopen(t, s.Dir())
		list := tapes(t, own, name)
		group.Go(func() error {
			_, err := publish(t, own, hostcmd.PublishOptions{Branch: "pages", Tapes: list})
			return err
		})
	}
	storetest.Must(t, group.Wait())
	list := storetest.Git(t, s.Dir(), "show", "pages:README.md")
	for _, name := range []string{"one", "two"} {
		if !strings.Contains(list, "the request of "+name) {
			t.Errorf("the list lacks %s:\n%s", name, list)
		}
		if page := storetest.Git(t, s.Dir(), "show", "pages:sessions/"+name+"/index.html"); !strings.Contains(page, "the request of "+name) {
			t.Errorf("the page of %s lacks its request", name)
		}
	}
	storetest.Healthy(t, s.Dir())
}

// When a site is published again, the sessions that it has are updated and chosen ones are added. A session that was
// taken out stays out unless it is named.
func TestAgain(t *testing.T) {
	s := asked(t, "one", "two")
	dir := filepath.Join(t.TempDir(), "site")
	page := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, "sessions", name, "index.html"))
		return err == nil
	}
	for i, c := range []struct {
		o        hostcmd.PublishOptions
		one, two bool
		said     string
	}{
		{hostcmd.PublishOptions{Tapes: tapes(t, s, "one")}, true, false, "1 session published"},
		{hostcmd.PublishOptions{Tapes: tapes(t, s, "two")}, true, true, "1 session unchanged"},
		{hostcmd.PublishOptions{Remove: []string{"one"}}, false, true, "1 session published"},
		{hostcmd.PublishOptions{Tapes: tapes(t, s, "one", "two")}, false, true, "1 session was left out"},
		{hostcmd.PublishOptions{Tapes: tapes(t, s, "one", "two"), Named: []string{"one"}}, true, true, "2 sessions published"},
	} {
		c.o.Dir = dir
		said, err := publish(t, s, c.o)
		storetest.Must(t, err)
		if page("one") != c.one || page("two") != c.two || !strings.Contains(said, c.said) {
			t.Errorf("call %d: the site has one: %v, two: %v, want %v, %v; it says %s", i, page("one"), page("two"), c.one, c.two, said)
		}
	}
	if _, err := publish(t, s, hostcmd.PublishOptions{Dir: dir, Remove: []string{"none"}}); err == nil {
		t.Error("a session that the pages do not have was taken out")
	}
	if _, err := publish(t, s, hostcmd.PublishOptions{Dir: t.TempDir()}); err == nil {
		t.Error("no error, though no session was chosen")
	}
}

// Two publish to one remote, and the branch of one of them is outdated. A session that the other took out, or put back,
// stays so unless it is named.
func TestOutdatedBranch(t *testing.T) {
	a := asked(t, "one", "two", "three", "four")
	remote := storetest.Remote(t, a)
	storetest.Push(t, a, nil)
	b := storetest.Clone(t, remote)
	call := func(s *repo.Store, push, named, remove, want string) {
		t.Helper()
		o := hostcmd.PublishOptions{Branch: "pages", Push: push, Named: strings.Fields(named), Remove: strings.Fields(remove)}
		o.Tapes = tapes(t, s, o.Named...)
		_, err := publish(t, s, o)
		storetest.Must(t, err)
		if got := strings.Fields(storetest.Git(t, remote, "ls-tree", "--name-only", "pages:sessions")); strings.Join(got, " ") != want {
			t.Errorf("the remote's pages have %v, want %v", got, want)
		}
	}
	call(b, "origin", "one two", "", "one two")
	call(a, "origin", "", "two", "one")
	call(b, "origin", "one", "", "one")
	call(a, "origin", "two", "", "one two")
	was := strings.TrimSpace(storetest.Git(t, remote, "rev-parse", "pages"))
	call(b, "origin", "one", "", "one two")
	storetest.Git(t, remote, "merge-base", "--is-ancestor", was, "pages")
	call(a, "origin", "three", "two", "one three")
	call(b, "origin", "", "", "one three")
	call(a, "origin", "two", "three", "one two") // its history starts over, and b knows two as taken out
	call(b, "origin", "one", "", "one two")

	// What the outdated branch has of its own is added: a session, and what it took out.
	call(b, "", "main", "", "one two")
	call(a, "origin", "", "two", "one")
	call(b, "origin", "one", "", "main one")
	call(b, "", "", "one", "main one")
	call(a, "origin", "four", "", "four main one")
	call(b, "origin", "main", "", "four main")
}

// A page with entries that were not pulled yet stays, and so does the history of the pages.
func TestNewerPage(t *testing.T) {
	a := asked(t, "one", "two")
	remote := storetest.Remote(t, a)
	storetest.Push(t, a, nil)
	b := storetest.Clone(t, remote)
	call := func(s *repo.Store, name string, updated int) string {
		t.Helper()
		facts := map[string]about.Tape{"tape/one": {Updated: time.Unix(int64(updated), 0)}}
		said, err := publish(t, s, hostcmd.PublishOptions{PublishApp: hostcmd.PublishApp{About: facts}, Branch: "pages", Push: "origin", Named: []string{name}, Tapes: tapes(t, s, name)})
		storetest.Must(t, err)
		return said
	}
	one := storetest.Tape(t, a, "one")
	storetest.Append(t, one, repo.Message("user", "a later request"))
	storetest.Checkpoint(t, one)
	call(a, "one", 2)
	was := strings.TrimSpace(storetest.Git(t, remote, "rev-parse", "pages"))
	for _, fetched := range []bool{false, true} {
		if fetched {
			storetest.Push(t, a, nil)
			_, err := b.Fetch(t.Context(), "origin", nil)
			storetest.Must(t, err)
		}
		if said := call(b, "two", 1); !strings.Contains(said, `the pages have a newer version of "one", which stays; tape pull brings it here`) {
			t.Errorf("publishing says %q, want that the page of one is newer", said)
		}
		if page := storetest.Git(t, remote, "show", "pages:sessions/one/index.html"); !strings.Contains(page, "a later request") {
			t.Error("an older page replaced the newer one")
		}
	}
	storetest.Git(t, remote, "merge-base", "--is-ancestor", was, "pages")
}

// A link in the folder leads nothing out of it.
func TestLinkInFolder(t *testing.T) {
	s := asked(t, "one")
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "sessions")); err != nil {
		t.Skip(err)
	}
	if _, err := publish(t, s, hostcmd.PublishOptions{Dir: dir, Tapes: tapes(t, s, "one")}); err == nil {
		t.Error("published through a link")
	}
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
		t.Errorf("the folder that the link leads to has %v, %v; want nothing", list, err)
	}
}
