"""How databases of earlier versions become one of this version, by Alembic."""
