// Package tools has the tools of the built-in agent: a shell, files, web pages, skills, its own
// tape, results that were too long, and the tools of MCP servers.
//
// # Names
//
// A tool has the same name everywhere, such as fs.read: in settings, comma commands, hooks and on
// the tape. Providers allow no dots, so a model sees [view.ToolName] of it, in the list of tools
// and in earlier calls. [Find] turns the model's name back into the tool.
//
// # What a tool may reach
//
// The fs tools work in the project only, and do not follow symbolic links that lead out of it.
// bash is a shell of the user: bash, or else sh. Its environment has no keys of providers, hosts or
// clouds, unless Options.CommandEnv names them. With Options.Confine, bash runs in a sandbox, except
// for commands that a person has typed; without, it reaches whatever the user can reach. Before you
// give an agent to others, deny bash: then, of the disk, only the project's files are left, and what
// MCP servers reach. web.fetch connects to public addresses only, unless Options.PrivateWeb allows
// others, because a page could name a service of the local network, or of the cloud that the host
// runs in. Through a proxy, only an address in the URL itself is checked.
//
// What a command has started ends with the command, which ends with its turn, or in the background
// with its session or the host, even if the host is killed. Only processes that enter a session of
// their own, as daemons do, go on. On Windows only the command itself is ended.
//
// # Large results
//
// Every result passes through [Set.Keep] once, after the hooks around tools. A result that is too
// long becomes an artifact of the tape: its secrets are masked, and the model gets a preview, and
// reads on with artifact.read and artifact.search.
package tools
