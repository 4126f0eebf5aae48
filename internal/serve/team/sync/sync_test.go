package sync_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	stdsync "sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/sync"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/testkit/teamtest"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// team is a database that is filled from a remote, and a workspace that pushes to that remote.
type team struct {
	t      testing.TB
	db     *db.DB
	config *config.Config
	store  *repo.Store // the workspace
}

func newTeam(t testing.TB) *team {
	t.Helper()
	bare := bareRemote(t)
	s := storetest.New(t, nil)
	storetest.Must(t, s.AddRemote(t.Context(), "origin", bare))
	return &team{t: t, db: teamtest.Open(t), store: s, config: &config.Config{Cache: t.TempDir(),
		Remotes: []config.Remote{{Name: "shop", URL: bare, Groups: []string{"shop"}}}}}
}

func bareRemote(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "remote.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func (m *team) push() {
	m.t.Helper()
	status, err := m.store.Push(m.t.Context(), "origin", &repo.PushOptions{Forks: true})
	storetest.Must(m.t, err)
	for _, s := range status {
		storetest.Must(m.t, s.Err)
	}
}

// once brings the remotes up to date, also if another worker is at them.
func (m *team) once(ctx context.Context, done func(sync.Result)) error {
	return sync.Once(ctx, sync.Options{Config: m.config, DB: m.db, Wait: true, Now: time.Now}, done)
}

func (m *team) try() sync.Result {
	m.t.Helper()
	var got sync.Result
	storetest.Must(m.t, m.once(m.t.Context(), func(r sync.Result) { got = r }))
	return got
}

func (m *team) sync() sync.Result {
	m.t.Helper()
	got := m.try()
	storetest.Must(m.t, got.Err)
	return got
}

// rows returns the lines that the database has, by tape.
func (m *team) rows() map[string][]string {
	m.t.Helper()
	v, err := m.db.View(m.t.Context(), []string{"shop"})
	storetest.Must(m.t, err)
	sessions, err := v.Sessions(m.t.Context(), db.Choice{Forks: true, Most: 1000})
	storetest.Must(m.t, err)
	out := map[string][]string{}
	total := int64(0)
	for _, s := range sessions {
		lines := []string{}
		storetest.Must(m.t, v.Entries(m.t.Context(), s, db.Range{Most: 1 << 30}, func(e db.Stored) bool {
			lines = append(lines, e.Line)
			return true
		}))
		if int64(len(lines)) != s.Entries {
			m.t.Errorf("%s has %d rows, and says %d", s.Name, len(lines), s.Entries)
		}
		total += s.Entries
		out[s.Name] = lines
	}
	sums, err := v.Totals(m.t.Context())
	storetest.Must(m.t, err)
	if sums.Entries != total {
		m.t.Errorf("the months have %d entries, the tapes %d", sums.Entries, total)
	}
	return out
}

// scan returns the lines that the workspace has, by tape; of a fork, only its own.
func (m *team) scan() map[string][]string {
	m.t.Helper()
	out := map[string][]string{}
	tapes, err := m.store.Tapes(m.t.Context())
	storetest.Must(m.t, err)
	forks, err := m.store.Forks(m.t.Context())
	storetest.Must(m.t, err)
	for _, t := range append(tapes, forks...) {
		q := repo.Query{}
		if t.IsFork() {
			b, err := t.Base(m.t.Context())
			storetest.Must(m.t, err)
			q.FirstID = b.Entry + 1
		}
		lines := []string{}
		for _, e := range storetest.Entries(m.t, t, q) {
			lines = append(lines, string(e.Raw))
		}
		out[t.Name()] = lines
	}
	return out
}

// same fails unless the database has the lines of the workspace.
func (m *team) same(when string) {
	m.t.Helper()
	got, want := m.rows(), m.scan()
	for name, lines := range want {
		if !slices.Equal(got[name], lines) {
			m.t.Fatalf("%s: %s has %d rows, want %d:\n%q\n%q", when, name, len(got[name]), len(lines), got[name], lines)
		}
		delete(got, name)
	}
	for name := range got {
		m.t.Errorf("%s: the database has %s, which the workspace does not have", when, name)
	}
}

// TestSync: a sync adds what is new, removes what was deleted, and does not depend on the cache.
func TestSync(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	tp := storetest.Tape(t, m.store, "")
	storetest.Append(t, tp, repo.Message("user", "the needle is here"), repo.Message("assistant", "数据库 is there"))
	m.push()
	if r := m.sync(); r.Entries != 3 || r.Tapes != 1 {
		t.Errorf("at first: %+v, want 3 entries of 1 tape", r)
	}
	m.same("at first")
	if r := m.sync(); r.Entries != 0 || r.Tapes != 0 || r.Removed != 0 {
		t.Errorf("without a change: %+v, want nothing", r)
	}
	storetest.Append(t, tp, repo.Message("user", "one more"))
	storetest.Handoff(t, tp, "next")
	f := storetest.Fork(t, tp, "try", "")
	storetest.Append(t, f, repo.Message("user", "in a fork"))
	m.push()
	if r := m.sync(); r.Entries != 3 || r.Tapes != 2 || r.Removed != 0 {
		t.Errorf("grown: %+v, want 3 entries of 2 tapes", r)
	}
	m.same("grown")
	storetest.Must(t, os.RemoveAll(m.config.Cache))
	if r := m.sync(); r.Entries != 0 || r.Removed != 0 {
		t.Errorf("without a cache: %+v, want nothing", r)
	}
	m.same("without a cache")
	storetest.Must(t, f.Discard(context.Background()))
	m.push()
	storetest.Git(t, m.config.Remotes[0].URL, "update-ref", "-d", "refs/heads/"+f.Branch())
	if r := m.sync(); r.Entries != 0 || r.Removed != 1 {
		t.Errorf("a fork was deleted: %+v, want 1 removed entry", r)
	}
	m.same("without the fork")
	own, _, err := workspace.OwnWorkspaces()
	storetest.Must(t, err)
	if slices.ContainsFunc(own, func(dir string) bool { return strings.HasPrefix(dir, m.config.Cache) }) {
		t.Errorf("the copy in the cache is among the user's workspaces: %q", own)
	}
}

// TestRandomHistory: after any history, the database has the lines of the workspace.
func TestRandomHistory(t *testing.T) {
	t.Parallel()
	r := testkit.Random(t)
	m := newTeam(t)
	tp := storetest.Tape(t, m.store, "")
	say := func(tp *repo.Tape) {
		for range 1 + r.IntN(4) {
			storetest.Append(t, tp, repo.Message("user", fmt.Sprintf("word%d text %d", r.IntN(50), r.IntN(1000))))
		}
	}
	steps := testkit.Size(25, 150)
	var forks []*repo.Tape
	for i := range steps {
		switch r.IntN(7) {
		case 0, 1:
			say(tp)
		case 2:
			storetest.Handoff(t, tp, fmt.Sprintf("phase-%d", i))
		case 3:
			f := storetest.Fork(t, tp, fmt.Sprintf("fork-%d", i), "")
			say(f)
			forks = append(forks, f)
		case 4:
			next, err := m.store.CreateTape(t.Context(), fmt.Sprintf("tape-%d", i))
			storetest.Must(t, err)
			say(next)
		case 5:
			say(tp)
			m.push()
			m.sync()
			m.same(fmt.Sprintf("step %d", i))
		case 6:
			if len(forks) == 0 {
				continue
			}
			say(forks[len(forks)-1])
		}
	}
	m.push()
	m.sync()
	m.same("at the end")
}

// TestRewritten: a rewritten history, such as after a purge, replaces the former one, also in the cache.
func TestRewritten(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	tp := storetest.Tape(t, m.store, "")
	storetest.Append(t, tp, repo.Message("user", "keep this"), repo.Message("user", "the word swordfish"))
	m.push()
	m.sync()
	storetest.Must(t, m.store.RemoveRemote(t.Context(), "origin")) // the push below is somebody else's
	_, err := tp.Reset(t.Context(), false)
	storetest.Must(t, err)
	storetest.Append(t, tp, repo.Message("user", "begun again"), repo.Message("user", "and on"))
	storetest.Checkpoint(t, tp)
	remote := m.config.Remotes[0].URL
	storetest.Git(t, m.store.Dir(), "push", "-q", "--force", "--no-verify", remote, "refs/heads/"+tp.Branch())
	for _, tag := range strings.Fields(storetest.Git(t, remote, "for-each-ref", "--format=%(refname)", "refs/tags")) {
		storetest.Git(t, remote, "update-ref", "-d", tag)
	}
	storetest.Git(t, m.store.Dir(), "push", "-q", "--force", "--no-verify", remote, "refs/tags/*:refs/tags/*")
	if r := m.sync(); r.Removed != 3 || r.Entries != 3 {
		t.Errorf("%+v, want 3 removed and 3 added entries", r)
	}
	m.same("rewritten")
	cache := filepath.Join(m.config.Cache, "shop")
	if out := storetest.Git(t, cache, "cat-file", "--batch-all-objects", "--batch-check"); out == "" {
		t.Error("the cache is empty")
	}
	for _, object := range strings.Split(storetest.Git(t, cache, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"), "\n") {
		if hash, ok := strings.CutSuffix(object, " blob"); ok && strings.Contains(storetest.Git(t, cache, "cat-file", "blob", hash), "swordfish") {
			t.Errorf("the cache still has a removed text, in %s", hash)
		}
	}
}

// TestMasked: no secret gets into the database, whether it is in a message or in an artifact.
func TestMasked(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	tp := storetest.Tape(t, m.store, "")
	secret := "ghp_" + strings.Repeat("a1B2c3D4e5F6", 3)
	storetest.Append(t, tp, repo.Message("user", "my token is "+secret), repo.Message("assistant", "noted"))
	storetest.AppendArtifact(t, tp, "export GITHUB_TOKEN="+secret+"\nand a needle\n")
	storetest.Checkpoint(t, tp)
	storetest.Git(t, m.store.Dir(), "push", "-q", "--no-verify", m.config.Remotes[0].URL, "refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*")
	m.sync()
	v, err := m.db.View(t.Context(), []string{"shop"})
	storetest.Must(t, err)
	sessions, err := v.Sessions(t.Context(), db.Choice{Most: 10})
	storetest.Must(t, err)
	dates := map[db.Key]time.Time{}
	for _, s := range sessions {
		if strings.Contains(s.Title+s.About, secret) {
			t.Errorf("the title or the description has the secret: %q", s.Title)
		}
		storetest.Must(t, v.Entries(t.Context(), s, db.Range{Most: 100}, func(e db.Stored) bool { dates[e.Key] = e.Date; return true }))
	}
	rows, err := v.Read(t.Context(), dates)
	storetest.Must(t, err)
	needles := 0
	for _, r := range rows {
		if strings.Contains(r.Text+r.Line, secret) {
			t.Errorf("@%d has the secret", r.ID)
		}
		if strings.Contains(r.Text, "a needle") {
			needles++
		}
	}
	if needles != 1 || len(rows) < 4 {
		t.Errorf("%d rows, of which %d have the artifact's text; want at least 4, and 1", len(rows), needles)
	}
	for _, word := range []string{strings.ToLower(secret), strings.ToLower(strings.TrimPrefix(secret, "ghp_"))} {
		if found, err := v.Find(t.Context(), db.Question{Words: "'" + word + "'", Most: 10}); err != nil || len(found) > 0 {
			t.Errorf("a search finds the secret: %v, %v", found, err)
		}
	}
}

// TestFailing: a remote that fails does not stop the others. Its status has the error, and it is read once it works.
func TestFailing(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	storetest.Append(t, storetest.Tape(t, m.store, ""), repo.Message("user", "hello"))
	m.push()
	good := m.config.Remotes[0]
	missing := filepath.Join(t.TempDir(), "missing.git")
	m.config.Remotes = append(m.config.Remotes, config.Remote{Name: "bank", URL: missing, Groups: []string{"bank"}})
	got := map[string]sync.Result{}
	storetest.Must(t, m.once(t.Context(), func(r sync.Result) { got[r.Remote] = r }))
	if got["shop"].Err != nil || got["shop"].Entries != 2 || got["bank"].Err == nil {
		t.Errorf("%+v, want 2 entries of shop, and an error of bank", got)
	}
	all, err := m.db.Status(t.Context())
	storetest.Must(t, err)
	if len(all) != 2 || all[0].Error == "" || all[0].Synced != nil || all[1].Error != "" || all[1].Entries != 2 {
		t.Errorf("the status is %+v, want an error of bank, and 2 entries of shop", all)
	}
	storetest.Git(t, good.URL, "clone", "-q", "--bare", good.URL, missing)
	storetest.Must(t, m.once(t.Context(), func(r sync.Result) { got[r.Remote] = r }))
	if got["bank"].Err != nil || got["bank"].Entries != 2 {
		t.Errorf("bank, which now works: %+v, want 2 entries", got["bank"])
	}
	if gone, err := m.db.DropRemotes(t.Context(), []string{"shop"}); err != nil || !slices.Equal(gone, []string{"bank"}) {
		t.Errorf("the dropped remotes are %v, %v; want bank", gone, err)
	}
	m.same("with one remote")
}

// TestOneConnection: several workers finish although the pool has a single connection.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.db = teamtest.OpenAt(t, teamtest.Address(t)+"&pool_max_conns=1")
	storetest.Append(t, storetest.Tape(t, m.store, ""), repo.Message("user", "hello"))
	m.push()
	for _, name := range []string{"bank", "farm"} {
		m.config.Remotes = append(m.config.Remotes, config.Remote{Name: name, URL: m.config.Remotes[0].URL})
	}
	storetest.Must(t, m.once(t.Context(), func(r sync.Result) {
		if r.Err != nil || r.Entries != 2 {
			t.Errorf("%+v, want 2 entries", r)
		}
	}))
	m.same("with one connection")
}

// TestEmptied: a running worker fills an emptied database again.
func TestEmptied(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	address := teamtest.Address(t)
	m.db = teamtest.OpenAt(t, address)
	storetest.Append(t, storetest.Tape(t, m.store, ""), repo.Message("user", "hello"))
	m.push()
	m.sync()
	c, err := pgx.Connect(t.Context(), address)
	storetest.Must(t, err)
	_, err = c.Exec(t.Context(), `DROP OWNED BY CURRENT_USER`)
	storetest.Must(t, errors.Join(err, c.Close(t.Context())))
	ctx, stop := context.WithCancel(t.Context())
	o := sync.Options{Config: m.config, DB: m.db, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	storetest.Must(t, sync.Watch(ctx, o, time.Hour, func(r sync.Result) {
		if r.Err != nil || r.Entries != 2 {
			t.Errorf("%+v, want 2 entries", r)
		}
		stop()
	}))
	m.same("filled again")
}

// TestKilled: whatever a worker was doing when it was stopped, the next one completes the rows.
func TestKilled(t *testing.T) {
	t.Parallel()
	r := testkit.Random(t)
	m := newTeam(t)
	for i := range 8 {
		tp, err := m.store.CreateTape(t.Context(), fmt.Sprintf("tape-%d", i))
		storetest.Must(t, err)
		var drafts []repo.Draft
		for n := range 400 {
			drafts = append(drafts, repo.Message("user", fmt.Sprintf("entry %d of %d", n, i)))
		}
		storetest.Append(t, tp, drafts...)
	}
	m.push()
	for range testkit.Size(6, 40) {
		looks := 20 + r.IntN(400) // at the context
		ctx, stop := context.WithCancel(t.Context())
		ctx = testkit.AtLook(ctx, looks, stop)
		err := m.once(ctx, func(sync.Result) {})
		stop()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	var done [2]sync.Result
	var wg stdsync.WaitGroup
	for i := range done { // two workers at once
		wg.Go(func() {
			_ = m.once(t.Context(), func(r sync.Result) { done[i] = r })
		})
	}
	wg.Wait()
	for _, d := range done {
		storetest.Must(t, d.Err)
	}
	m.same("after all")
}

// TestReachForeign: if git does not read a repository because another user owns it, the error has a hint.
func TestReachForeign(t *testing.T) {
	dir := bareRemote(t)
	_, err := sync.CheckRemote(t.Context(), dir)
	storetest.Must(t, err)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	_, err = sync.CheckRemote(t.Context(), dir)
	if err == nil || !strings.Contains(fmt.Sprint(layout.Hints(err)), "safe.directory "+dir) {
		t.Errorf("error %v with the hints %v, want one about safe.directory", err, layout.Hints(err))
	}
}
