// Package config reads team.toml, the settings of a team's server.
package config

import (
	"cmp"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"tape/internal/serve/front"
	"tape/internal/store/layout"
)

// DefaultFile is the name of the file with the settings, if no other is given.
const DefaultFile = "team.toml"

// EnvFile is the environment variable that names the file with the settings.
const EnvFile = "TAPE_TEAM_CONFIG"

// envDatabase is the environment variable with the address of the database, which overrides that in the file.
const envDatabase = "TAPE_TEAM_DATABASE"

// envSecret is the environment variable with the client secret of OpenID Connect. The file may not contain it.
const envSecret = "TAPE_TEAM_CLIENT_SECRET"

// Kinds of authentication: how people log in. Tokens work with every kind.
const (
	Tokens = "tokens"
	Proxy  = "proxy"
	OIDC   = "oidc"
)

// Config are the settings of a team's server.
type Config struct {
	Database     string `toml:"database"`      // address of the PostgreSQL database
	DatabaseFile string `toml:"database_file"` // a file with that address
	URL          string `toml:"url"`           // the public address, with a path if there is one
	Listen       string `toml:"listen"`        // address and port
	// TrustedProxies are addresses or networks. Only from them does the server accept X-Forwarded headers, and headers
	// that name users.
	TrustedProxies []string `toml:"trusted_proxies"`
	Cache          string   `toml:"cache"`      // folder for copies of the remotes
	AuditDays      int      `toml:"audit_days"` // how long the audit is kept: who searched and read what, and made tokens
	Remotes        []Remote `toml:"remote"`
	Auth           Auth     `toml:"auth"`
}

// Remote is a repository that the team pushes tapes to.
type Remote struct {
	Name    string   `toml:"name"`
	URL     string   `toml:"url"`
	Groups  []string `toml:"groups"`  // the groups that see it
	Clone   string   `toml:"clone"`   // the address that people clone; empty means url
	Include []string `toml:"include"` // patterns of tapes' names, such as shop-*; empty means all
	Exclude []string `toml:"exclude"` // patterns of names that are not read, even if Include has them
}

// Auth says how people log in.
type Auth struct {
	Kind         string `toml:"kind"`
	UserHeader   string `toml:"user_header"`   // proxy: the header with the user's name
	GroupsHeader string `toml:"groups_header"` // proxy: the header with the user's groups, separated by commas

	Issuer      string   `toml:"issuer"`       // oidc: its address
	Client      string   `toml:"client"`       // oidc: this server's id at the issuer
	SecretFile  string   `toml:"secret_file"`  // oidc: a file with the client's secret; a public client has none
	GroupsClaim string   `toml:"groups_claim"` // oidc: the claim with the user's groups
	Scopes      []string `toml:"scopes"`       // oidc: asked for besides openid
	Secret      string   `toml:"-"`            // oidc: the client's secret, from SecretFile or the environment
}

// FileName returns the file to read: the given one, that of the environment, or team.toml in the current folder.
func FileName(given string, getenv func(string) string) string {
	return cmp.Or(given, getenv(EnvFile), DefaultFile)
}

// Load reads the settings and fills in defaults. It checks all that can be checked without a connection. Errors:
// ErrNotFound, ErrInvalid.
func Load(file string, getenv func(string) string) (*Config, error) {
	raw, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, layout.NotFound("name it with --config FILE or "+EnvFile+"; docs/team.md has an example", "there is no %s", file)
	case err != nil:
		return nil, layout.Classify(err)
	}
	c := &Config{Listen: "127.0.0.1:8700", AuditDays: 90, Auth: Auth{Kind: Tokens, UserHeader: "X-Forwarded-User", GroupsHeader: "X-Forwarded-Groups", GroupsClaim: "groups", Scopes: []string{"profile", "email"}}}
	d := toml.NewDecoder(strings.NewReader(string(raw))).DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, layout.Invalid("", "%s: %s", file, inWords(err))
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, layout.Classify(err)
	}
	if err := c.complete(dir, getenv); err != nil {
		return nil, layout.Wrap(err, "%s", file)
	}
	return c, nil
}

// inWords returns a decoder's error without its prefix, with the line, and with the name of a setting that is unknown.
func inWords(err error) string {
	var unknown *toml.StrictMissingError
	var one *toml.DecodeError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		line, _ := unknown.Errors[0].Position()
		return "line " + strconv.Itoa(line) + ": there is no setting " + strings.Join(unknown.Errors[0].Key(), ".")
	case errors.As(err, &one):
		line, _ := one.Position()
		return "line " + strconv.Itoa(line) + ": " + strings.TrimPrefix(one.Error(), "toml: ")
	}
	return strings.TrimPrefix(err.Error(), "toml: ")
}

// complete fills in missing settings, and checks all of them. Paths are relative to dir, the file's folder.
func (c *Config) complete(dir string, getenv func(string) string) error {
	if c.DatabaseFile != "" {
		raw, err := os.ReadFile(inDir(dir, c.DatabaseFile))
		if err != nil {
			return layout.Invalid("", "database_file: %v", err)
		}
		c.Database = strings.TrimSpace(string(raw))
	}
	c.Database = cmp.Or(getenv(envDatabase), c.Database)
	if c.Database == "" {
		return layout.Invalid(`add a line such as database = "postgres:///tape?host=/run/postgresql"`, "database is missing")
	}
	if c.AuditDays < 1 {
		return layout.Invalid("", "audit_days is %d: give at least 1", c.AuditDays)
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return layout.Invalid("give an address and a port, such as 127.0.0.1:8700", "listen is %q", c.Listen)
	}
	if err := c.checkURL(); err != nil {
		return err
	}
	if _, err := c.Front(c.Listen); err != nil {
		return layout.Wrap(err, "url and trusted_proxies")
	}
	if err := c.checkAuth(dir, getenv); err != nil {
		return err
	}
	if c.Cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return layout.Invalid("set it to a folder for copies of the remotes", "cache is missing: %v", err)
		}
		c.Cache = filepath.Join(cache, "tape-team")
	}
	c.Cache = inDir(dir, c.Cache)
	return c.checkRemotes(dir)
}

func (c *Config) checkURL() error {
	if c.URL == "" {
		c.URL = "http://" + c.Listen
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return layout.Invalid("give the address that people open, such as https://tape.example.org/sessions", "url is %q", c.URL)
	}
	c.URL = strings.TrimRight(c.URL, "/")
	return nil
}

func (c *Config) checkAuth(dir string, getenv func(string) string) error {
	switch c.Auth.Kind {
	case Tokens:
	case Proxy:
		if len(c.TrustedProxies) == 0 {
			return layout.Invalid(`add the proxy's address: trusted_proxies = ["127.0.0.1"]`, "auth.kind is proxy, and trusted_proxies is empty: nobody could log in")
		}
	case OIDC:
		return c.checkOIDC(dir, getenv)
	default:
		return layout.Invalid("", "auth.kind is %q: give tokens, proxy or oidc", c.Auth.Kind)
	}
	return nil
}

func (c *Config) checkOIDC(dir string, getenv func(string) string) error {
	a := &c.Auth
	u, err := url.Parse(a.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1") {
		return layout.Invalid("give its address, such as https://login.example.org", "auth.issuer is %q", a.Issuer)
	}
	if a.Client == "" {
		return layout.Invalid("register this server at the issuer, with "+c.URL+"/login/callback as the address to go back to", "auth.client is missing")
	}
	if a.SecretFile != "" {
		raw, err := os.ReadFile(inDir(dir, a.SecretFile))
		if err != nil {
			return layout.Invalid("", "auth.secret_file: %v", err)
		}
		a.Secret = strings.TrimSpace(string(raw))
	}
	a.Secret = cmp.Or(getenv(envSecret), a.Secret)
	return nil
}

// goodName matches names of remotes and groups. They occur in addresses, file names and lists.
var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// GoodName reports whether a remote or a group may have this name.
func GoodName(name string) bool { return goodName.MatchString(name) && !strings.Contains(name, "..") }

func (c *Config) checkRemotes(dir string) error {
	if len(c.Remotes) == 0 {
		return layout.Invalid("add a [[remote]] with name, url and groups", "there is no remote")
	}
	seen := map[string]bool{}
	for i := range c.Remotes {
		r := &c.Remotes[i]
		switch {
		case !GoodName(r.Name):
			return layout.Invalid("a name has letters, digits, dots, dashes and underscores, at most 64", "the name of a remote is %q", r.Name)
		case seen[strings.ToLower(r.Name)]:
			return layout.Invalid("", "two remotes are called %s", r.Name)
		case r.URL == "":
			return layout.Invalid("", "remote %s: url is missing", r.Name)
		case len(r.Groups) == 0:
			return layout.Invalid("", "remote %s: groups is empty: nobody would see it", r.Name)
		}
		seen[strings.ToLower(r.Name)] = true
		for _, g := range r.Groups {
			if !GoodName(g) {
				return layout.Invalid("", "remote %s: %q is not the name of a group", r.Name, g)
			}
		}
		for _, p := range slices.Concat(r.Include, r.Exclude) {
			if _, err := path.Match(p, ""); err != nil {
				return layout.Invalid("write it as for file names: shop-*", "remote %s: %q is not a pattern", r.Name, p)
			}
		}
		if strings.HasPrefix(r.URL, "./") || strings.HasPrefix(r.URL, "../") {
			r.URL = inDir(dir, r.URL)
		}
	}
	return nil
}

// CloneURL returns the address that people clone, without a user and password, except for ssh.
func (r *Remote) CloneURL() string {
	address := cmp.Or(r.Clone, r.URL)
	if u, err := url.Parse(address); err == nil && u.Host != "" && u.User != nil && u.Scheme != "ssh" {
		u.User = nil
		return u.String()
	}
	return address
}

// Takes reports whether the server reads a tape or fork of the remote. It reads a fork if it reads the fork's tape.
func (r *Remote) Takes(tape string) bool {
	tape, _, _ = strings.Cut(tape, "/")
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { ok, _ := path.Match(p, tape); return ok })
	}
	return (len(r.Include) == 0 || has(r.Include)) && !has(r.Exclude)
}

// Seen returns the names of the remotes that somebody with these groups sees.
func (c *Config) Seen(groups []string) (names []string) {
	for _, r := range c.Remotes {
		if slices.ContainsFunc(r.Groups, func(g string) bool { return slices.Contains(groups, g) }) {
			names = append(names, r.Name)
		}
	}
	return names
}

// Groups returns all groups, sorted.
func (c *Config) Groups() (all []string) {
	for _, r := range c.Remotes {
		all = append(all, r.Groups...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Remote returns the remote with this name, nil if there is none.
func (c *Config) Remote(name string) *Remote {
	for i := range c.Remotes {
		if c.Remotes[i].Name == name {
			return &c.Remotes[i]
		}
	}
	return nil
}

// Named returns the remotes with these names, or all remotes if names is empty. Errors: ErrNotFound.
func (c *Config) Named(names []string) (out []Remote, err error) {
	if len(names) == 0 {
		return c.Remotes, nil
	}
	for _, name := range names {
		r := c.Remote(name)
		if r == nil {
			return nil, layout.NotFound("", "team.toml has no remote %q", name)
		}
		out = append(out, *r)
	}
	return out, nil
}

// Path returns the path of the public address, without a slash at the end.
func (c *Config) Path() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return u.Path
}

// Front returns the front of a server that listens on an address and port.
func (c *Config) Front(address string) (*front.Front, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	return front.New(front.Options{Hosts: []string{u.Host, address}, Path: c.Path(), Proxies: c.TrustedProxies, Near: "name it in team.toml: trusted_proxies",
		Hint: "call it " + c.URL + ", or set url in team.toml"})
}

// inDir returns a path that may be relative to dir.
func inDir(dir, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}
