package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// postgres is a server of its own in the scratch folder, on a unix socket.
type postgres struct {
	*setup
	bin, dir string
	as       []string // in front of a command: root may not run the server
	who      string
}

// tables are what one would make for entries: a page by key, a search by an index of words.
const tables = `create table entries (tape int, id bigint, kind text, json text, text text,
	words tsvector generated always as (to_tsvector('simple', text)) stored, primary key (tape, id));
create table given (i serial primary key, kind text, json text, text text);`

const (
	pgPage   = "select id, kind, json from entries where tape = 1 and id < :id order by id desc limit 50;\n"
	pgSearch = "select id, kind, json, ts_rank(words, q) as rank from entries, to_tsquery('simple', '%s') q where tape = 1 and words @@ q order by %s desc limit 10;\n"
	pgInsert = "insert into entries (tape, id, kind, json, text) select 1, nextval('ids'), kind, json, text from given where i between :i and :i + %d;\n"
)

func (s *setup) measurePostgres(ctx context.Context) (err error) {
	p := &postgres{setup: s, dir: filepath.Join(s.dir, fmt.Sprintf("pg-%d", s.entries))}
	if p.bin = binaries(); p.bin == "" {
		fmt.Fprintln(s.out, "PostgreSQL is left out: it is not installed (Debian: apt-get install postgresql)")
		return nil
	}
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.ctl(context.WithoutCancel(ctx), "stop", "-m", "fast")) }()
	newest := "\\set id " + strconv.Itoa(s.entries+1) + "\n" + pgPage
	page := "\\set id random(60, " + strconv.Itoa(s.entries) + ")\n" + pgPage
	searches := func(words []string, order string) (out []string) {
		for _, w := range words {
			out = append(out, fmt.Sprintf(pgSearch, w, order))
		}
		return out
	}
	insert := func(n int) []string { return []string{"\\set i random(1, 900)\n" + fmt.Sprintf(pgInsert, n-1)} }
	for _, m := range []struct {
		what           string
		clients, units int
		scripts        []string
	}{
		{newestPage, 1, 1, []string{newest}},
		{randomPage, 1, 1, []string{page}},
		{pagesBeside, 8, 1, []string{page}},
		{rareSearch, 1, 1, searches(rare(), "rank")},
		{commonSearch, 1, 1, searches(common(), "rank")},
		{searchBeside, 8, 1, searches(common(), "rank")},
		{"  PostgreSQL the newest, not the best: rare", 1, 1, searches(rare(), "id")},
		{"  PostgreSQL the newest, not the best: common", 1, 1, searches(common(), "id")},
		{oneAppend, 1, 1, insert(1)},
		{appendBeside, 8, 1, insert(1)},
		{manyAppend, 1, batch, insert(batch)},
	} {
		t, err := p.bench(ctx, m.clients, m.scripts)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		t.units = m.units
		s.table.row(m.what).other = t
		fmt.Fprintf(s.out, "PostgreSQL, %s: %s ms, %s a second\n", strings.TrimSpace(m.what), t.at(0.5), t.rate())
	}
	return nil
}

// binaries is the folder of PostgreSQL's programs, "" if it is not installed.
func binaries() string {
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if path, err := exec.LookPath("initdb"); err == nil {
		all = slices.Insert(all, 0, path)
	}
	for _, path := range slices.Backward(all) {
		dir := filepath.Dir(path)
		if !slices.ContainsFunc([]string{"initdb", "pg_ctl", "psql", "pgbench"}, func(name string) bool { return !exists(filepath.Join(dir, name)) }) {
			return dir
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (p *postgres) command(ctx context.Context, in io.Reader, program string, args ...string) error {
	argv := append(slices.Clone(p.as), append([]string{filepath.Join(p.bin, program)}, args...)...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin = p.dir, in
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) { // the server keeps its output open
		return fmt.Errorf("%s: %w\n%s", program, err, out.Bytes())
	}
	return nil
}

func (p *postgres) ctl(ctx context.Context, args ...string) error {
	return p.command(ctx, nil, "pg_ctl", append(args, "-w", "-D", "data")...)
}

func (p *postgres) sql(ctx context.Context, in io.Reader, text string) error {
	return p.command(ctx, in, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", p.dir, "-U", p.who, "-c", text, "postgres")
}

// begin starts the server with the tables filled, or with those of an earlier run.
func (p *postgres) begin(ctx context.Context) error {
	me, err := user.Current()
	if err == nil && me.Uid == "0" {
		if me, err = user.Lookup("postgres"); err != nil {
			me, err = user.Lookup("nobody")
		}
		p.as = []string{"runuser", "-u", me.Username, "--"}
	}
	if err != nil {
		return err
	}
	p.who = me.Username
	isNew := !exists(filepath.Join(p.dir, "filled"))
	if isNew {
		if err := p.initialize(ctx, me); err != nil {
			return err
		}
	}
	if err := p.ctl(ctx, "start", "-l", "log", "-o", "-c listen_addresses= -c shared_buffers=512MB -c maintenance_work_mem=512MB -c max_wal_size=4GB -k "+p.dir); err != nil {
		return err
	}
	if isNew {
		if err := p.fill(ctx); err != nil {
			return errors.Join(err, p.ctl(context.WithoutCancel(ctx), "stop"))
		}
	}
	return nil
}

func (p *postgres) initialize(ctx context.Context, me *user.User) error {
	if err := os.RemoveAll(p.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if len(p.as) > 0 {
		uid, _ := strconv.Atoi(me.Uid) // on Unix they are numbers
		gid, _ := strconv.Atoi(me.Gid)
		if err := os.Chown(p.dir, uid, gid); err != nil {
			return err
		}
	}
	return p.command(ctx, nil, "initdb", "-D", "data", "-A", "trust", "-U", p.who, "-E", "UTF8", "--locale=C")
}

// fill loads the entries of the long tape.
func (p *postgres) fill(ctx context.Context) error {
	began, n := time.Now(), 0
	if err := p.sql(ctx, nil, tables); err != nil {
		return err
	}
	w := newWriter()
	rows := w.lines(p.entries, func(e entry) string {
		n++
		return fmt.Sprintf("1\t%d\t%s\t%s\t%s", n, e.kind, e.payload, e.text)
	})
	if err := p.sql(ctx, rows, "copy entries (tape, id, kind, json, text) from stdin"); err != nil {
		return err
	}
	given := w.lines(1000, func(e entry) string { return e.kind + "\t" + e.payload + "\t" + e.text })
	if err := p.sql(ctx, given, "copy given (kind, json, text) from stdin"); err != nil {
		return err
	}
	if err := p.sql(ctx, nil, "create index on entries using gin (words); create sequence ids start "+strconv.Itoa(p.entries+1)); err != nil {
		return err
	}
	for _, text := range []string{"vacuum analyze", "checkpoint"} {
		if err := p.sql(ctx, nil, text); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "PostgreSQL is filled in %.0f s\n", time.Since(began).Seconds())
	return os.WriteFile(filepath.Join(p.dir, "filled"), nil, 0o600)
}

// bench runs scripts by pgbench, one of them at a time by chance. Its log has the time of each.
func (p *postgres) bench(ctx context.Context, clients int, scripts []string) (t timed, err error) {
	old, err := filepath.Glob(filepath.Join(p.dir, "times.*"))
	if err != nil {
		return t, err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return t, err
		}
	}
	args := []string{"-n", "-M", "prepared", "-h", p.dir, "-U", p.who, "-c", strconv.Itoa(clients), "-T", strconv.Itoa(max(1, int(p.each.Seconds()))), "-l", "--log-prefix", "times"}
	for i, text := range scripts {
		name := filepath.Join(p.dir, fmt.Sprintf("script%d.sql", i))
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return t, err
		}
		args = append(args, "-f", name)
	}
	began := time.Now()
	if err := p.command(ctx, nil, "pgbench", append(args, "postgres")...); err != nil {
		return t, err
	}
	t.within = time.Since(began)
	logs, err := filepath.Glob(filepath.Join(p.dir, "times.*"))
	for _, name := range logs {
		err = errors.Join(err, t.read(name))
	}
	slices.Sort(t.took)
	return t, err
}

// read adds the times of a log of pgbench: a line for each transaction, its microseconds third.
func (t *timed) read(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		us, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		t.took = append(t.took, time.Duration(us)*time.Microsecond)
	}
	return lines.Err()
}
