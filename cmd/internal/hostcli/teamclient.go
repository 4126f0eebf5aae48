package hostcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/agent/keys"
	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

const (
	// teamSetting is the name of the setting that has the server's address, and of the key that has its token.
	teamSetting = "team"

	envServer = "TAPE_TEAM"
	envToken  = "TAPE_TEAM_TOKEN"
)

// teamClient asks a server.
type teamClient struct {
	url, token string
	http       http.Client
}

// openTeam returns a client. Server and token come from the environment; what is missing there, from tape login. Errors:
// ErrNotFound if no server is known, or no token for it; ErrInvalid, as from New.
func openTeam(getenv func(string) string) (*teamClient, error) {
	server, token := getenv(envServer), getenv(envToken)
	if server == "" {
		var err error
		if server, err = workspace.GlobalSetting(teamSetting); err != nil {
			return nil, err
		}
	}
	if server == "" {
		return nil, layout.NotFound("tape login URL --token-stdin remembers one", "no team server is known")
	}
	if token == "" {
		file, err := keysFile()
		if err != nil {
			return nil, err
		}
		all, err := keys.Read(file)
		if err != nil {
			return nil, err
		}
		known, _ := workspace.GlobalSetting(teamSetting)
		if token = all[teamSetting]; token == "" || strings.TrimRight(known, "/") != strings.TrimRight(server, "/") {
			return nil, layout.NotFound("tape login "+server+" --token-stdin remembers one; or set "+envToken, "no token for %s is known", server)
		}
	}
	return newTeamClient(server, token)
}

func keysFile() (string, error) {
	home, err := workspace.Home()
	return keys.File(home), err
}

// newTeamClient returns a client for a server; ErrInvalid if its address or the token is malformed.
func newTeamClient(server, token string) (*teamClient, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, layout.Invalid("give an address such as https://tape.example.org", "%q is not the address of a server", server)
	}
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return nil, layout.Invalid("tape team token add makes one", "the token is missing or malformed")
	}
	c := &teamClient{url: strings.TrimRight(server, "/"), token: token}
	c.http.Timeout = time.Minute
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // no other server gets the token
	return c, nil
}

// IsPlain reports whether the token crosses a network unencrypted.
func (c *teamClient) IsPlain() bool {
	u, err := url.Parse(c.url)
	if err != nil || u.Scheme == "https" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// Remember keeps the server and its token for the next commands.
func (c *teamClient) Remember() error {
	if err := workspace.SetGlobalSetting(teamSetting, c.url); err != nil {
		return err
	}
	file, err := keysFile()
	if err != nil {
		return err
	}
	return keys.Write((*disk.FS)(nil), file, teamSetting, c.token)
}

// get asks for something and decodes the answer.
func (c *teamClient) get(ctx context.Context, path string, query url.Values, into any) error {
	address := c.url + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the team's server %s cannot be reached: %w", c.url, err)
	}
	defer res.Body.Close()
	const longest = 64 << 20
	body, err := io.ReadAll(io.LimitReader(res.Body, longest))
	if err != nil {
		return fmt.Errorf("the answer of the team's server %s broke off: %w", c.url, err)
	}
	if res.StatusCode != http.StatusOK {
		return c.refused(res.StatusCode, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s does not answer as a team's server: is that its address?", c.url)
	}
	return nil
}

// refused returns why the server refused a request.
func (c *teamClient) refused(status int, body []byte) error {
	var said struct {
		Error struct {
			Message string
			Details struct{ Hint string }
		}
	}
	if json.Unmarshal(body, &said) != nil || said.Error.Message == "" {
		return fmt.Errorf("%s does not answer as a team's server (status %d): is that its address?", c.url, status)
	}
	switch status {
	case http.StatusUnauthorized:
		return layout.Invalid(cmp.Or(said.Error.Details.Hint, "tape login "+c.url+" --token-stdin takes a new one"), "%s refuses the token: %s", c.url, said.Error.Message)
	case http.StatusNotFound:
		hint := said.Error.Details.Hint
		if hint != "" { // it names an endpoint
			hint = "tape tapes --team lists the sessions that you see"
		}
		return layout.NotFound(hint, "%s", said.Error.Message)
	case http.StatusUnprocessableEntity:
		return layout.Invalid(said.Error.Details.Hint, "%s", said.Error.Message)
	}
	return fmt.Errorf("%s: %s", c.url, said.Error.Message)
}

// teamUser says who the token's user is.
type teamUser struct {
	Name            string
	Groups, Remotes []string
}

// teamUser asks who the token's user is.
func (c *teamClient) Me(ctx context.Context) (m teamUser, err error) {
	return m, c.get(ctx, "/v1/me", nil, &m)
}

// loginToTeam tries a token, and remembers it with its server.
func loginToTeam(ctx context.Context, out *stdio.Streams, server, token string) error {
	c, err := newTeamClient(server, token)
	if err != nil {
		return err
	}
	if c.IsPlain() {
		out.Warn("the token crosses the network unencrypted: use https:// if others can listen")
	}
	me, err := c.Me(ctx)
	if err == nil {
		err = c.Remember()
	}
	if err != nil {
		return err
	}
	return out.Result(stdio.Object{{"server", c.url}, {"name", me.Name}, {"groups", me.Groups}, {"remotes", me.Remotes}},
		"logged in to %s as %s, who sees %s", c.url, me.Name, cmp.Or(strings.Join(me.Remotes, ", "), "no remote"))
}
