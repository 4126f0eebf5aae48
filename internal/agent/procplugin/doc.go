// Package procplugin runs plugins that are processes, in any language. Each speaks JSON-RPC 2.0
// with the host, one object a line on standard input and output; docs/plugins.md has the
// protocol. For the runtime such a process is a [hooks.Plugin] with the hooks that it lists when
// it starts. The host calls the plugin; what the plugin asks of the host is a request.
//
// A process that ends by itself, or no longer answers, is started again after a pause. If that
// happens too often, the plugin is turned off: then its hooks give no answers, or fail if it is
// required, so that calls are denied.
package procplugin
