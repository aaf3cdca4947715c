"""Parts of networks: row-sparse tables, weighted bags, encoders."""
