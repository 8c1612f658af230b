"""Pictures of graphs: boxes and arrows as SVG, and as text for Mermaid."""
