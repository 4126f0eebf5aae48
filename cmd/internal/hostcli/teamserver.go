package hostcli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"tape/cmd/internal/hints"
	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/stdio"
	"tape/internal/git/gitrun"
	"tape/internal/git/transport"
	"tape/internal/serve/mcpserver"
	"tape/internal/serve/team/api"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
	"tape/internal/serve/team/sync"
	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// teamSearches lets the server search views of the database.
type teamSearches struct{ *db.DB }

func (s teamSearches) Source(ctx context.Context, remotes []string) (find.Source, error) {
	return s.View(ctx, remotes)
}

// TeamServe answers the team's requests until it is interrupted.
func (Host) TeamServe(ctx context.Context, o hostcmd.TeamOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, d, err := openDatabase(ctx, o, nil, prepareTables(o))
	if err != nil {
		return err
	}
	defer d.Close()
	l, err := listenForTeam(ctx, c)
	if err != nil {
		return err
	}
	address := l.Addr().String()
	if strings.HasSuffix(c.URL, ":0") { // any free port
		c.URL = "http://" + address
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	with := api.Options{Config: c, Store: teamSearches{d}, Now: o.Now, Log: log, Version: o.Version, Pages: api.NewPages(ctx, c, o.Now), OIDC: issuerOf(c),
		MCP: func(s find.Source, audit func(ctx context.Context, action, resource string) error) http.Handler {
			return mcpserver.Team(mcpserver.TeamOptions{Source: s, Audit: audit, Version: o.Version})
		}}
	handler, err := api.New(with, address)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	if err := o.Result(stdio.Object{{"url", c.URL}}, "%s", c.URL); err != nil {
		return err
	}
	if err := o.Flush(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer stop()
		done <- srv.Shutdown(last)
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}

// issuerOf returns the issuer with which people log in, nil if team.toml names none.
func issuerOf(c *config.Config) *api.Login {
	if c.Auth.Kind != config.OIDC {
		return nil
	}
	return api.NewLogin(c)
}

// listenForTeam listens on the address in team.toml. It refuses an address that other machines reach unless team.toml names
// trusted proxies, because the server itself has no TLS.
func listenForTeam(ctx context.Context, c *config.Config) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, layout.Invalid("stop what listens there, or set listen in team.toml to another address", "cannot listen on %s: %v", c.Listen, err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); (!ok || !a.IP.IsLoopback()) && len(c.TrustedProxies) == 0 {
		_ = l.Close()
		return nil, layout.Invalid("listen on an address of this machine, such as 127.0.0.1:8700, or name the proxies with TLS that may reach it: trusted_proxies",
			"other machines can reach %s, and would send their tokens unencrypted", c.Listen)
	}
	return l, nil
}

// TeamCheck tries everything that team.toml names: the database, the remotes, the issuer and the address.
func (Host) TeamCheck(ctx context.Context, o hostcmd.TeamOptions) error {
	c, err := config.Load(config.FileName(o.Config, o.Getenv), o.Getenv)
	if err != nil {
		return err
	}
	k := &teamChecks{s: o.Streams}
	read := k.database(ctx, c)
	for _, r := range c.Remotes {
		tapes, err := checkRemote(ctx, r)
		is := display.Count(tapes, "tape", "tapes") + "; for the groups " + strings.Join(r.Groups, ", ") + "; "
		if st, ok := read[r.Name]; ok && st.Synced != nil {
			is += "last read " + display.Ago(o.Now(), st.Synced.Format(time.RFC3339), display.Minute) + ": " + display.Count(int(st.Tapes), "tape", "tapes") + ", " + display.Entries(st.Entries)
		} else {
			is += "not read yet: tape team sync"
		}
		k.tell("remote "+r.Name, is, err)
	}
	if login := issuerOf(c); login != nil {
		k.tell("issuer", c.Auth.Issuer, login.Reach(ctx))
	}
	l, err := listenForTeam(ctx, c)
	if err == nil {
		err = l.Close()
	}
	k.tell("listen", c.Listen+", which people call "+c.URL+"; they log in with "+c.Auth.Kind, err)
	if k.failed > 0 {
		return fmt.Errorf("%d of %d checks failed", k.failed, k.all)
	}
	return o.Written()
}

type teamChecks struct {
	s           *stdio.Streams
	all, failed int
}

// tell prints the outcome of a check. is says what was found, if err is nil.
func (k *teamChecks) tell(what, is string, err error) {
	k.all++
	text, hint := "", ""
	if err != nil {
		k.failed++
		is = ""
		text, _, _ = strings.Cut(err.Error(), "\n") // only the first line of git's message
		hint = hints.Of(err)
	}
	if k.s.JSON {
		_ = k.s.Emit(stdio.Object{{"check", what}, {"ok", err == nil}, {"message", stdio.OrNull(text)}, {"hint", stdio.OrNull(hint)}}.With("is", is))
		return
	}
	if err == nil {
		k.s.Printf("ok      %s\n", what)
		if is != "" {
			k.s.Printf("        %s\n", display.Line(is))
		}
		return
	}
	k.s.Printf("failed  %s: %s\n", what, text)
	if hint != "" {
		k.s.Printf("        %s\n", hint)
	}
}

// database checks the database, and returns how far each remote was read into it.
func (k *teamChecks) database(ctx context.Context, c *config.Config) (read map[string]db.RemoteStatus) {
	d, err := db.Open(ctx, c.Database)
	is := ""
	if err == nil {
		defer d.Close()
		is, err = d.Server(ctx)
	}
	k.tell("database", is, err)
	if err != nil {
		return nil
	}
	st, err := d.State(ctx)
	if err == nil && st != db.Empty && st != db.Older { // tape team sync makes the tables
		err = st.Err()
	}
	is, read = "none yet: tape team sync makes them", map[string]db.RemoteStatus{}
	if err == nil && st != db.Empty && st != db.Older {
		is, err = k.tables(ctx, d, read)
	}
	k.tell("tables", is, err)
	notes, err := d.Notes(ctx)
	for _, note := range notes {
		k.tell("database", "", errors.New(note))
	}
	if err != nil {
		k.tell("database", "", err)
	}
	return read
}

// tables says what is in the tables, and adds how far each remote was read.
func (k *teamChecks) tables(ctx context.Context, d *db.DB, read map[string]db.RemoteStatus) (is string, err error) {
	all, err := d.Status(ctx)
	if err != nil {
		return "", err
	}
	var tapes, entries int64
	for _, r := range all {
		read[r.Remote] = r
		tapes, entries = tapes+r.Tapes, entries+r.Entries
	}
	tokens, err := d.Tokens(ctx)
	valid := 0
	for _, t := range tokens {
		if t.Valid(k.s.Now()) {
			valid++
		}
	}
	return display.Count(int(tapes), "tape", "tapes") + " with " + display.Entries(entries) + " of " + display.Count(len(all), "remote", "remotes") + "; " +
		display.Count(valid, "valid token", "valid tokens"), err
}

// checkRemote counts the tapes of a remote, as a sync does, and fetches nothing.
func checkRemote(ctx context.Context, r config.Remote) (tapes int, err error) {
	if err := transport.CheckURL(r.URL); err != nil {
		return 0, layout.Invalid("give a path, user@host:path, or an address that begins with ssh://, https:// or file://", "%v", err)
	}
	if err := gitrun.CheckGit(); err != nil {
		return 0, layout.Classify(err)
	}
	return sync.CheckRemote(ctx, r.URL)
}
