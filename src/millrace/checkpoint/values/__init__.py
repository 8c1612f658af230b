"""Values as stored data: columns, pickles, and the classes behind them."""
