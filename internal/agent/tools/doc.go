// Package tools has the tools of the built-in agent: a shell, files, web pages, skills, its own
// tape, what was too large for a result, and the tools of MCP servers.
//
// # Names
//
// A tool has the same name everywhere, as fs.read: in settings, comma commands, hooks and on
// the tape. Providers take no dots, so a model sees [view.ToolName] of it, in the list of tools
// as in the calls of the past. [Find] turns what the model says back into the tool.
//
// # What a tool may reach
//
// The fs tools work in the project and nowhere else; symbolic links that lead out of it are
// not followed. bash is the user's own shell: it reaches what the user reaches, without keys of
// providers, hosts or clouds in its environment, unless Options.CommandEnv names them. Who gives an agent to others denies bash by a
// hook; then it is left with the project's files. web.fetch connects to public addresses only,
// unless Options.PrivateWeb says otherwise: a page could name a service of the local network,
// or of the cloud that the host runs in. What a shell has started ends with the turn, or with
// the host if it runs in the background, also if the host is killed. Only what puts itself into
// a session of its own, as daemons do, is left alone.
//
// # Large results
//
// What goes to the model and the tape passes through [Set.Keep] once, after the hooks around
// tools. A result that is too long becomes an artifact of the tape: secrets in it are masked,
// the model gets a preview, and reads on with artifact.read and artifact.search.
package tools
