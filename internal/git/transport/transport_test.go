package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
	"tape/internal/testkit/gitjudge"
)

// mirror fetches everything into the namespace of the remote "origin".
var mirror = []RefSpec{
	{Src: "refs/heads/*", Dst: "refs/tape/remotes/origin/heads/*"},
	{Src: "refs/tags/*", Dst: "refs/tape/remotes/origin/tags/*"},
}

// growing makes n commits on parent, each of which adds a line to a file, and returns them.
func growing(t testing.TB, r *gitstore.Repo, parent gitstore.Hash, n int, salt string) (out []gitstore.Hash) {
	t.Helper()
	b := r.NewBatch()
	defer b.Discard()
	content := ""
	for i := range n {
		content += fmt.Sprintf("%s line %d %s\n", salt, i, strings.Repeat("x", 100))
		file := b.Put(gitstore.KindBlob, []byte(content))
		dir := b.Put(gitstore.KindTree, gitstore.EncodeTree([]gitstore.TreeEntry{{Name: "a.jsonl", Mode: gitstore.ModeFile, Hash: file}}))
		tree := b.Put(gitstore.KindTree, gitstore.EncodeTree([]gitstore.TreeEntry{{Name: "dir", Mode: gitstore.ModeDir, Hash: dir}, {Name: "tape.json", Mode: gitstore.ModeFile, Hash: b.Put(gitstore.KindBlob, []byte(salt))}}))
		c := gitstore.Commit{Tree: tree, Author: gitjudge.Ann, Committer: gitjudge.Ann, Message: fmt.Sprintf("%s %d\n", salt, i)}
		if !parent.IsZero() {
			c.Parents = []gitstore.Hash{parent}
		}
		parent = b.Put(gitstore.KindCommit, gitstore.EncodeCommit(c))
		out = append(out, parent)
	}
	if err := b.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return out
}

// tagged makes an annotated tag object.
func tagged(t testing.TB, r *gitstore.Repo, h gitstore.Hash, name string) gitstore.Hash {
	t.Helper()
	b := r.NewBatch()
	defer b.Discard()
	tag := b.Put(gitstore.KindTag, gitstore.EncodeTag(gitstore.Tag{Object: h, Name: name, Tagger: gitjudge.Ann, Message: "tag\n"}))
	if err := b.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tag
}

// side is a user's repository with a peer as its remote "origin".
type side struct {
	*gitjudge.Judge
	r    *gitstore.Repo
	peer remotePeer
}

func newSide(t testing.TB, peer remotePeer) *side {
	t.Helper()
	env := os.Getenv("GIT_SSH_COMMAND")
	j := gitjudge.New(t)
	if env != "" {
		t.Setenv("GIT_SSH_COMMAND", env)
	}
	s := &side{Judge: j, r: open(j, nil), peer: peer}
	s.OK(AddRemote(context.Background(), s.r, "origin", peer.URL))
	return s
}

func (s *side) fetch() []RefChange {
	s.Helper()
	f, err := Fetch(context.Background(), s.r, "origin", mirror, Options{})
	s.OK(err)
	return f
}

// push sends groups and returns the statuses, a word for each ref.
func (s *side) push(groups ...[]PushRef) string {
	s.Helper()
	results, err := Push(context.Background(), s.r, "origin", groups, Options{})
	s.OK(err)
	return statuses(results)
}

func statuses(results [][]PushResult) string {
	var words []string
	for _, g := range results {
		for _, r := range g {
			words = append(words, string(r.Status))
		}
	}
	return strings.Join(words, " ")
}

func (s *side) set(name string, h gitstore.Hash) {
	s.Helper()
	old, err := s.r.Ref(name)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		s.Fatal(err)
	}
	s.OK(s.r.UpdateRef(context.Background(), gitstore.RefUpdate{Name: name, Old: old, New: h, Message: "test"}))
}

func branch(name string, h gitstore.Hash) PushRef { return PushRef{Name: "refs/heads/" + name, New: h} }
func tag(name string, h gitstore.Hash) PushRef    { return PushRef{Name: "refs/tags/" + name, New: h} }

// sound checks that both sides are intact and have no leftovers.
func (s *side) sound() {
	s.Helper()
	for _, dir := range []string{s.GitDir, s.peer.Dir} {
		if out, err := s.TryGit(dir, "--git-dir="+dir, "fsck", "--strict", "--no-dangling"); err != nil || strings.Contains(out, "error") {
			s.Errorf("git fsck of %s: %v\n%s", dir, err, out)
		}
	}
	s.tidy(s.GitDir)
}

// tidy checks that no lock and no temporary file is left in a git folder.
func (s *side) tidy(gitDir string) {
	s.Helper()
	_ = filepath.WalkDir(gitDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		name := filepath.Base(path)
		own := strings.HasPrefix(path, filepath.Join(gitDir, gitlock.OwnDir)) && !strings.HasPrefix(path, filepath.Join(gitDir, gitlock.OwnDir, "tmp"))
		if !own && (strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, "object-")) {
			s.Errorf("left behind: %s", path)
		}
		return nil
	})
}

func TestTransport(t *testing.T) {
	eachPeer(t, func(t *testing.T, peer remotePeer) {
		ann, bob := newSide(t, peer), newSide(t, peer)
		t.Run("empty", func(t *testing.T) { testEmpty(t, ann) })
		t.Run("push and fetch", func(t *testing.T) { testThereAndBack(t, ann, bob) })
		t.Run("rejected", func(t *testing.T) { testRejected(t, ann, bob) })
		t.Run("deleted", func(t *testing.T) { testDeleted(t, ann, bob) })
		t.Run("many", func(t *testing.T) { testMany(t, ann, bob) })
		t.Run("diverged", func(t *testing.T) { testDiverged(t, ann, bob) })
		ann.sound()
		bob.sound()
	})
}

// in returns the side for a subtest, which its failures belong to.
func (s *side) in(t *testing.T) *side {
	j := *s.Judge
	j.TB = t
	return &side{Judge: &j, r: s.r, peer: s.peer}
}

func testEmpty(t *testing.T, s *side) {
	s = s.in(t)
	if f := s.fetch(); len(f) != 0 {
		t.Errorf("an empty remote changed %v", f)
	}
	refs, head, err := LsRemote(context.Background(), s.r, "origin", []string{"refs/"}, Options{})
	if err != nil || len(refs) != 0 {
		t.Errorf("an empty remote has %v (HEAD %q), %v", refs, head, err)
	}
	if got := s.push(); got != "" {
		t.Errorf("pushing nothing gave %q", got)
	}
}

func testThereAndBack(t *testing.T, a, b *side) {
	a, b = a.in(t), b.in(t)
	commits := growing(t, a.r, gitstore.ZeroHash, 20, "main")
	a.set("refs/heads/tape/main", commits[9])
	note := tagged(t, a.r, commits[4], "anchor/main/001_x")
	if got := a.push([]PushRef{branch("tape/main", commits[9]), tag("anchor/main/001_x", note)}); got != "new new" {
		t.Fatalf("first push: %s", got)
	}
	f := b.fetch()
	if len(f) != 2 || f[0] != (RefChange{Name: "refs/tape/remotes/origin/heads/tape/main", New: commits[9]}) || f[1].New != note {
		t.Errorf("first fetch changed %v", f)
	}
	if c, err := b.r.Commit(commits[0]); err != nil || c.Subject() != "main 0" {
		t.Errorf("the first commit came as %v, %v", c, err)
	}
	if f := b.fetch(); len(f) != 0 {
		t.Errorf("nothing new changed %v", f)
	}
	if got := a.push([]PushRef{branch("tape/main", commits[9]), tag("anchor/main/001_x", note)}); got != "up_to_date up_to_date" {
		t.Errorf("pushing the same: %s", got)
	}
	a.set("refs/heads/tape/main", commits[19])
	if got := a.push([]PushRef{branch("tape/main", commits[19])}); got != "fast_forward" {
		t.Errorf("second push: %s", got)
	}
	f = b.fetch()
	if len(f) != 1 || f[0] != (RefChange{Name: "refs/tape/remotes/origin/heads/tape/main", Old: commits[9], New: commits[19]}) {
		t.Errorf("second fetch changed %v", f)
	}
	a.OK(SetRemoteHead(context.Background(), a.r, "origin", "refs/heads/tape/main"))
	refs, head, err := LsRemote(context.Background(), b.r, "origin", []string{"refs/tags/"}, Options{})
	if err != nil || len(refs) != 1 || refs[0] != (gitstore.Ref{Name: "refs/tags/anchor/main/001_x", Hash: note}) {
		t.Errorf("the remote has %v, %v", refs, err)
	}
	if local := b.peer.Transport == "path" || b.peer.Transport == "file"; local && head != "refs/heads/tape/main" {
		t.Errorf("HEAD of the remote is %q", head)
	}
	b.sound()
}

func testRejected(t *testing.T, a, b *side) {
	a, b = a.in(t), b.in(t)
	other := growing(t, b.r, gitstore.ZeroHash, 3, "other")
	b.set("refs/heads/tape/other", other[2])
	note := tagged(t, b.r, other[0], "anchor/main/001_x")
	fresh := tagged(t, b.r, other[0], "anchor/main/002_x")
	results, err := Push(context.Background(), b.r, "origin", [][]PushRef{
		{branch("tape/main", other[2]), tag("anchor/main/002_x", fresh)}, // another history
		{branch("tape/other", other[2])},
		{branch("tape/third", other[1]), tag("anchor/main/001_x", note)}, // an existing tag
	}, Options{})
	b.OK(err)
	if got := statuses(results); got != "rejected rejected new rejected rejected" {
		t.Errorf("the statuses are %s, want only tape/other new: %v", got, results)
	}
	if got := results[0][0].Reason; got != "non-fast-forward" {
		t.Errorf("a diverged branch was rejected as %q", got)
	}
	if got := results[2][1].Reason; got != "already exists" {
		t.Errorf("a tag that moves was rejected as %q", got)
	}
	f := a.fetch()
	for _, c := range f {
		if strings.Contains(c.Name, "002_x") || strings.Contains(c.Name, "third") {
			t.Errorf("half of a rejected group is there: %v", c)
		}
	}
}

func testDeleted(t *testing.T, a, b *side) {
	a, b = a.in(t), b.in(t)
	h, err := b.r.Ref("refs/heads/tape/other")
	b.OK(err)
	wrong := PushRef{Name: "refs/heads/tape/other", Old: gitstore.HashObject(gitstore.KindBlob, []byte("x"))}
	if got := b.push([]PushRef{wrong}); got != "rejected" {
		t.Errorf("deleting with a wrong old value: %s, want rejected", got)
	}
	if got := b.push([]PushRef{{Name: "refs/heads/tape/other", Old: h}}); got != "deleted" {
		t.Errorf("deleting: %s", got)
	}
	f := a.fetch()
	if len(f) != 1 || f[0] != (RefChange{Name: "refs/tape/remotes/origin/heads/tape/other", Old: h}) {
		t.Errorf("fetching after the remote's ref was deleted changed %v, want only that ref", f)
	}
}

// testMany sends more refs than are set one by one.
func testMany(t *testing.T, a, b *side) {
	a, b = a.in(t), b.in(t)
	commits := growing(t, a.r, gitstore.ZeroHash, 5, "many")
	var groups [][]PushRef
	batch := a.r.NewBatch()
	defer batch.Discard()
	const branches = gitstore.FewRefs * 5 / 8
	want := 2 * branches
	for i := range branches {
		name := fmt.Sprintf("many-%d", i)
		h, tagName := commits[i%len(commits)], "anchor/"+name+"/001_a"
		note := batch.Put(gitstore.KindTag, gitstore.EncodeTag(gitstore.Tag{Object: h, Name: tagName, Tagger: gitjudge.Ann, Message: "tag\n"}))
		groups = append(groups, []PushRef{branch("tape/"+name, h), tag(tagName, note)})
	}
	a.OK(batch.Flush(context.Background()))
	results, err := Push(context.Background(), a.r, "origin", groups, Options{})
	a.OK(err)
	if got := strings.Count(statuses(results), "new"); got != want {
		t.Errorf("%d of %d refs are new there", got, want)
	}
	if f := b.fetch(); len(f) < want {
		t.Errorf("%d of %d refs came", len(f), want)
	}
	refs, err := b.r.Refs("refs/tape/remotes/origin/tags/anchor/many-")
	if err != nil || len(refs) != branches {
		t.Errorf("%d of %d tags are here, %v", len(refs), branches, err)
	}
	b.sound()
}

// testDiverged has two sides with different commits after the same one.
func testDiverged(t *testing.T, a, b *side) {
	a, b = a.in(t), b.in(t)
	b.fetch()
	base, err := b.r.Ref("refs/tape/remotes/origin/heads/tape/main")
	b.OK(err)
	ours, theirs := growing(t, a.r, base, 3, "ours"), growing(t, b.r, base, 3, "theirs")
	a.set("refs/heads/tape/main", ours[2])
	b.set("refs/heads/tape/main", theirs[2])
	if got := a.push([]PushRef{branch("tape/main", ours[2])}); got != "fast_forward" {
		t.Errorf("the first push: %s", got)
	}
	if got := b.push([]PushRef{branch("tape/main", theirs[2])}); got != "rejected" {
		t.Errorf("the second push: %s", got)
	}
	f := b.fetch()
	if len(f) != 1 || f[0].New != ours[2] {
		t.Errorf("the other side's commits came as %v", f)
	}
}

func TestTransportAuth(t *testing.T) {
	dir := gitjudge.Bare(t)
	s := newSide(t, remotePeer{Transport: "http", Dir: dir, URL: strings.Replace(gitjudge.HTTP(t, filepath.Dir(dir), "ann", "s3cret word"), "s3cret", "wr0ng", 1) + "/" + filepath.Base(dir)})
	h := growing(t, s.r, gitstore.ZeroHash, 1, "x")[0]
	_, err := Fetch(context.Background(), s.r, "origin", mirror, Options{})
	_, perr := Push(context.Background(), s.r, "origin", [][]PushRef{{branch("x", h)}}, Options{})
	_, _, lerr := LsRemote(context.Background(), s.r, "origin", []string{"refs/"}, Options{})
	for _, err := range []error{err, perr, lerr} {
		if !errors.Is(err, ErrAuth) {
			t.Errorf("a wrong password gave %v", err)
		} else if strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("the password is in the message: %v", err)
		}
	}
}

func TestTransportNoRemote(t *testing.T) {
	eachPeer(t, func(t *testing.T, peer remotePeer) {
		peer.URL = strings.Replace(peer.URL, "remote.git", "nowhere.git", 1)
		s := newSide(t, peer)
		_, err := Fetch(context.Background(), s.r, "origin", mirror, Options{})
		if !errors.Is(err, ErrRemote) {
			t.Errorf("no repository there gave %v", err)
		}
		if _, err := Fetch(context.Background(), s.r, "nobody", mirror, Options{}); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("no remote of that name gave %v", err)
		}
	})
}

// A remote's hook rejects some branches.
func TestTransportHook(t *testing.T) {
	eachPeer(t, func(t *testing.T, peer remotePeer) {
		for i, hook := range []string{"update", "pre-receive"} {
			script := "#!/bin/sh\ncase $1 in *bad*) echo 'not this one' >&2; exit 1;; esac\n"
			if hook == "pre-receive" {
				script = "#!/bin/sh\nwhile read old new name; do case $name in *bad*) echo 'not this one' >&2; exit 1;; esac; done\n"
			}
			if err := os.WriteFile(filepath.Join(peer.Dir, "hooks", hook), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			s := newSide(t, peer)
			h := growing(t, s.r, gitstore.ZeroHash, 1, "x")[0]
			named := func(name string) []PushRef { return []PushRef{branch(fmt.Sprint(name, i), h)} }
			results, err := Push(context.Background(), s.r, "origin", [][]PushRef{named("good"), named("bad"), named("fine")}, Options{})
			s.OK(err)
			if got := statuses(results); got != "new rejected new" {
				t.Errorf("%s: got %s: %v", hook, got, results)
			}
			if got := results[1][0].Reason; !strings.Contains(got, "not this one") {
				t.Errorf("%s: what the hook said is not in %q", hook, got)
			}
			s.OK(os.Remove(filepath.Join(peer.Dir, "hooks", hook)))
		}
	})
}

// The user's pre-push hook decides.
func TestTransportUserHook(t *testing.T) {
	dir := gitjudge.Bare(t)
	s := newSide(t, remotePeer{Transport: "path", Dir: dir, URL: dir})
	s.OK(os.MkdirAll(filepath.Join(s.GitDir, "hooks"), 0o700))
	s.OK(os.WriteFile(filepath.Join(s.GitDir, "hooks", "pre-push"), []byte("#!/bin/sh\necho \"pushing=$"+PushEnv+"\" >&2\nexit 1\n"), 0o700))
	h := growing(t, s.r, gitstore.ZeroHash, 1, "x")[0]
	_, err := Push(context.Background(), s.r, "origin", [][]PushRef{{branch("x", h)}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "pushing=1") {
		t.Errorf("the hook refused, and the push gave %v", err)
	}
}

func TestRemotes(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, nil)
	ctx := context.Background()
	j.Git("config", "remote.old.url", "ssh://host/path")
	j.OK(AddRemote(ctx, r, "origin", "https://example.org/a \"b\".git"))
	if err := AddRemote(ctx, r, "origin", "/elsewhere"); !errors.Is(err, ErrExists) {
		t.Errorf("adding it twice gave %v", err)
	}
	if got := j.Git("remote", "-v"); !strings.Contains(got, "origin\thttps://example.org/a \"b\".git (push)") {
		t.Errorf("git sees %s", got)
	}
	if got := j.Git("config", "remote.origin.fetch"); got != "+refs/heads/*:refs/remotes/origin/*" {
		t.Errorf("a plain git fetch would fetch %s", got)
	}
	all := Remotes(r)
	if len(all) != 2 || all[0].Name != "old" || all[1].URL != "https://example.org/a \"b\".git" {
		t.Errorf("got %v", all)
	}
	h := j.Commits(1)[0]
	for _, name := range []string{"refs/remotes/origin/x", "refs/tape/remotes/origin/heads/x", "refs/remotes/old/x"} {
		j.Git("update-ref", name, h.String())
	}
	j.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/x")
	j.Git("config", "branch.main.remote", "origin")
	j.OK(RemoveRemote(ctx, r, "origin"))
	if got := j.Git("for-each-ref", "--format=%(refname)"); got != "refs/remotes/old/x" {
		t.Errorf("left: %s", got)
	}
	if got := j.Git("remote"); got != "old" {
		t.Errorf("git sees %s", got)
	}
	if err := RemoveRemote(ctx, r, "origin"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("removing it twice gave %v", err)
	}
	j.Git("remote", "add", "origin", "x") // git can still edit the file
}

func TestCheckURL(t *testing.T) {
	for _, good := range []string{
		"/a/b", "../a", "./-a", "a b", "file:///a", "ssh://u@h:22/p", "git+ssh://h/p", "u@h:p", "h:p/q.git", "[::1]:p", "u@[::1]:p", "http://h/p", "https://u:p@h/p", "git://h/p", "/a::b/c",
	} {
		if err := CheckURL(good); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "-x", "--upload-pack=touch /tmp/x", "ext::sh -c x", "fd::7", "foo::bar", "ssh://-oProxyCommand=x/p", "-oProxyCommand=x:p", "u@-x:p", "h:-p", "ftp://h/p", "a\nb", "rsync://h", "ssh://u@h/p\x00",
	} {
		if CheckURL(bad) == nil {
			t.Errorf("%q is let through", bad)
		}
	}
	for _, bad := range []string{"", "-x", "a..b", "a/", "/a", "a b", "a\"b", `a\b`, "a.lock", "x:y", "a//b", ".a"} {
		if CheckRemoteName(bad) == nil {
			t.Errorf("the name %q is let through", bad)
		}
	}
}

func TestMaskURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://u:p4ss@h/p": "https://u:***@h/p", "https://token@h/p": "https://***@h/p", "ssh://git@h/p": "ssh://git@h/p",
		"ssh://git:pw@h/p": "ssh://git:***@h/p", "https://u:p@ss@h": "https://u:***@h", "/a:b@c": "/a:b@c", "u@h:p": "u@h:p",
		"https://token:@h/p": "https://***@h/p", "https://token:x-oauth-basic@h/p": "https://***@h/p", "https://h/p?key=token": "https://h/p?***",
		"https://u:pw@h/p?key=token#x": "https://u:***@h/p?***", "u:token@h/p": "u:***@h/p", "ssh://h/p?q": "ssh://h/p?q", "/a?b@c": "/a?b@c",
		"/srv/a path of some length/with@sign:and/colons.git": "/srv/a path of some length/with@sign:and/colons.git", "h:p/a@b": "h:p/a@b",
	} {
		if got := MaskURL(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
