package agents

import (
	"bytes"
	"fmt"

	"github.com/tailscale/hujson"

	"tape/internal/sessions/importer/record"
)

// server is the name of our MCP server in an agent's settings, and of the program in PATH.
const server = "tape"

func (d *document) addMCP(a *record.Agent, program string) error {
	member, value := a.MCP(program)
	if d.get(member, server) != nil {
		return nil // it may have been changed on purpose
	}
	in := d.get(member)
	if in == nil {
		if err := d.add(&d.root, member, struct{}{}); err != nil {
			return err
		}
		in = d.get(member)
	}
	if _, ok := in.Value.(*hujson.Object); !ok {
		return fmt.Errorf("%q is not an object", member)
	}
	return d.add(in, server, value)
}

func (d *document) removeMCP(a *record.Agent) error {
	member, _ := a.MCP("")
	if v := d.get(member, server); v == nil || !bytes.Contains(data(v), []byte(`"mcp"`)) {
		return nil
	}
	return d.removeMember(member, server)
}
